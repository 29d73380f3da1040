# SPDX-License-Identifier: Apache-2.0
"""<kernels/fft>: the 3-D transform against the defining sum of the discrete Fourier transform, in double precision."""
import os
import subprocess
import unittest

from kit import BITS16, BITS32, ROW, np, root, started, write

LAYOUT = """
param width: u16;
param n: u16;
const memcpy = @import_module("<memcpy/get_params>", .{ .width = width, .height = width });
const fft = @import_module("<kernels/fft/fft3d_layout>", .{ .width = width, .memcpy = memcpy });
layout {
  @set_rectangle(width, width);
  fft.FFT_kernel(PLACEwidth, n, TYPE);
}
"""


def dft_matrix(n, sign):
    k = np.arange(n)
    return np.exp(sign * 2j * np.pi * np.outer(k, k) / n)


def dft(data, sign):
    """The sum over all three axes, unscaled."""
    matrix = dft_matrix(data.shape[0], sign)
    return np.einsum("abc,ai,bj,ck->ijk", data, matrix, matrix, matrix)


class Transforms(unittest.TestCase):
    def run_one(self, width, n, scalar, arch, norm, inverse, real=False):
        name = f"fft_{width}_{n}_{scalar}_{arch}"
        path = write(name, "layout.csl", LAYOUT.replace("TYPE", scalar).replace("PLACE", "0, 0, " if width == 1 else ""))  # both forms
        out = os.path.join(path, "out")
        if not os.path.isdir(out):
            done = subprocess.run(["cslc", "layout.csl", f"--arch={arch}", f"--fabric-dims={width + 7},{width + 2}",
                                   "--fabric-offsets=4,1", "-o", out, "--memcpy", "--channels=1", f"--params=width:{width},n:{n}"],
                                  cwd=path, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertEqual(done.returncode, 0, done.stdout)
        dtype, bits = (np.float32, BITS32) if scalar == "f32" else (np.float16, BITS16)
        random = np.random.default_rng(7)
        data = random.uniform(-1, 1, (n, n, n)) + (0 if real else 1j * random.uniform(-1, 1, (n, n, n)))
        data = data.real.astype(dtype).astype(np.float64) + 1j * data.imag.astype(dtype).astype(np.float64)
        p = n // width
        # Element (a, b, c) of PE (x, y): a on the local axis, b on the column's, c on the row's.
        host = data.reshape(n, width, p, width, p).transpose(1, 3, 0, 2, 4).reshape(width, width, n * p * p)
        twiddle = np.exp(1j * np.pi * np.arange(n // 2) / (n // 2))

        def to_words(values):
            pairs = np.stack([values.real, values.imag], axis=-1).ravel().astype(dtype)
            return pairs.view(np.uint32) if scalar == "f32" else pairs.view(np.uint16).astype(np.uint32)

        runtime = started(out)
        options = {"streaming": False, "data_type": bits, "order": ROW, "nonblock": False}
        runtime.memcpy_h2d(runtime.get_id("X"), to_words(host), 0, 0, width, width, 2 * n * p * p, **options)
        runtime.memcpy_h2d(runtime.get_id("twiddle_array"), to_words(np.broadcast_to(twiddle, (width, width, n // 2))), 0, 0,
                           width, width, n, **options)
        if real:
            runtime.launch("csfftExecC2R" if inverse else "csfftExecR2C", np.int16(norm), nonblock=False)
        else:
            runtime.launch("csfftExecC2C", np.int16(norm), np.int16(inverse), nonblock=False)
        result = np.zeros(2 * n * n * n, np.uint32)
        runtime.memcpy_d2h(result, runtime.get_id("X"), 0, 0, width, width, 2 * n * p * p, **options)
        runtime.stop()
        floats = result.view(np.float32) if scalar == "f32" else result.astype(np.uint16).view(np.float16)
        values = floats.astype(np.float64).reshape(-1, 2)
        got = (values[:, 0] + 1j * values[:, 1]).reshape(width, width, n, p, p).transpose(2, 0, 3, 1, 4).reshape(n, n, n)

        expected = dft(data, 1 if inverse else -1)
        scale = {0: n ** 3 if inverse else 1, 1: np.sqrt(n ** 3), 2: 1 if inverse else n ** 3}[norm]
        tolerance = (2e-6 if scalar == "f32" else 1e-2) * np.abs(expected / scale).max()
        np.testing.assert_allclose(got, expected / scale, rtol=0, atol=tolerance)

    def test_one_pe(self):
        self.run_one(1, 4, "f32", "wse2", 0, 0)

    def test_forward_and_inverse_with_every_norm(self):
        for norm in (0, 1, 2):
            for inverse in (0, 1):
                self.run_one(2, 8, "f32", "wse3", norm, inverse)

    def test_wse2(self):
        self.run_one(2, 4, "f32", "wse2", 1, 1)

    def test_half_precision(self):
        self.run_one(2, 4, "f16", "wse3", 1, 0)

    def test_four_pes_a_side(self):
        self.run_one(4, 8, "f32", "wse3", 0, 0)

    def test_real_input(self):
        self.run_one(2, 4, "f32", "wse3", 0, 0, real=True)
        self.run_one(2, 4, "f32", "wse3", 0, 1, real=True)


if __name__ == "__main__":
    unittest.main(verbosity=1)
