# SPDX-License-Identifier: Apache-2.0
"""tools/gpu with a pack of stand-ins: what it says where something is missing, fails or is stopped. Needs no GPU."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

GPU = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools", "gpu")
PASSES = """case "$*" in
  *--gtest_list_tests*) echo Suite.; echo "  Test";;
  *) echo "[  PASSED  ] 3 tests.";;
esac
"""
ROW = '{"own": true, "violations": 0, "unwritten": 0}'
BENCH = f"""echo '{{"rows": [{ROW}], "patterns": [{{"passed": true}}], "huge": [{{"passed": true}}]}}' >"$2"
"""
SMI = """for a in "$@"; do [[ $a == --query-gpu=* ]] && names=${a#--query-gpu=}; done
case $names in
  *vbios*,*) echo 'Field "vbios_version" is not a valid field to query.'; exit 2;;
  vbios*) exit 2;;
  name) echo Some GPU;;
  driver_version) echo 999.9;;
  clocks.sm,*) echo "1980, 3201, 35, 75.50, 0x0000000000000001";;
  *) echo "[N/A]";;
esac
"""
SANITIZER = """shift 4; "$@"; echo "========= ERROR SUMMARY: 0 errors"
"""


class Gpu(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="szarena-gpu-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("bin", "pack", "tmp"):
            os.mkdir(os.path.join(self.folder, name))
        self.script("pack/codec_cuda_test", PASSES)
        self.script("pack/codec_cuda_portable_test", PASSES)
        self.script("pack/bench_gpu", BENCH)
        self.script("bin/nvidia-smi", SMI)
        with open(self.at("pack/etopo5.f32"), "w"):
            pass
        self.env = {"PATH": self.at("bin") + ":/usr/bin:/bin", "TMPDIR": self.at("tmp")}

    def at(self, name):
        return os.path.join(self.folder, name)

    def script(self, name, text):
        with open(self.at(name), "w") as file:
            file.write("#!/bin/bash\n" + text)
        os.chmod(self.at(name), 0o755)

    def run_gpu(self, *args):
        done = subprocess.run([sys.executable, GPU, *args], env=self.env, capture_output=True, text=True)
        self.assertNotIn("Traceback", done.stderr)
        self.assertEqual(os.listdir(self.at("tmp")), [])
        return done

    def result(self, *args):
        path = self.at("new/folder/gpu.json")
        done = self.run_gpu("--programs", self.at("pack/"), "--json", path, *args)
        with open(path) as file:
            return done, json.load(file)

    def test_a_pack_passes_but_for_what_it_cannot_run(self):
        done, result = self.result()
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIsNone(result["passed"])
        self.assertEqual(list(result["not_run"]), ["target_cuda_test: OnDevice.*"])
        self.assertEqual(result["device"]["driver"], "999.9")
        self.assertIsNone(result["device"]["vbios"])
        for when in ("before", "after"):
            self.assertEqual(result[when]["sm_clock_mhz"], 1980)
            self.assertEqual(result[when]["memory_clock_mhz"], 3201)

    def test_full_without_sanitizer_is_not_passed(self):
        if os.path.exists("/usr/local/cuda/bin/compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/bin:/bin"):
            self.skipTest("there is a compute-sanitizer here")
        done, result = self.result("--full")
        self.assertEqual(done.returncode, 3)
        self.assertIsNone(result["passed"])
        self.assertIn("memcheck", result["not_run"])

    def test_full(self):
        self.script("bin/compute-sanitizer", SANITIZER)
        _, result = self.result("--full")
        self.assertEqual(result["wrong"], [])
        self.assertEqual(list(result["sanitizers"]), ["memcheck", "racecheck", "initcheck"])

    def test_a_filter_without_tests_is_not_clean(self):
        self.script("bin/compute-sanitizer", SANITIZER)
        for names, ran in (("", 3), ('echo Suite.; echo "  Test"', 0)):
            self.script("pack/codec_cuda_test", f"""case "$*" in *--gtest_list_tests*) {names or ':'};; "--gtest_filter=*") echo "[  PASSED  ] 3 tests.";;
                *) echo "[  PASSED  ] {ran} tests.";; esac\n""")
            done, result = self.result("--full")
            self.assertEqual(done.returncode, 1)
            self.assertIs(result["passed"], False)
            self.assertIn("memcheck", result["wrong"])

    def test_skipped_tests_do_not_count_as_passed(self):
        self.script("pack/codec_cuda_test", 'echo "[  PASSED  ] 2 tests."; echo "[  SKIPPED ] 1 test, listed below:"\n')
        done, result = self.result()
        self.assertEqual(done.returncode, 3)
        self.assertIsNone(result["passed"])
        self.assertIn("codec_cuda_test", result["not_run"])

    def test_failed_tests(self):
        self.script("pack/codec_cuda_test", 'echo "[  PASSED  ] 2 tests."; echo "[  FAILED  ] 1 test, listed below:"; exit 1\n')
        done, result = self.result()
        self.assertEqual(done.returncode, 1)
        self.assertIs(result["passed"], False)

    def test_a_bench_that_writes_nothing_loses_no_tests(self):
        for text, said in (("exit 0\n", "wrote no result"), ("echo '{' >$2\n", "wrote no result"), ("exit 7\n", "status 7")):
            self.script("pack/bench_gpu", text)
            done, result = self.result()
            self.assertEqual(done.returncode, 1)
            self.assertIn(said, result["bench"]["failed"])
            self.assertIn(said, done.stderr)
            self.assertEqual(result["tests"]["codec_cuda_test"]["passed"], 3)

    def test_a_bench_that_lacks_something_is_not_run(self):
        self.script("pack/bench_gpu", "exit 3\n")
        done, result = self.result()
        self.assertEqual(done.returncode, 3)
        self.assertIsNone(result["passed"])
        self.assertIn("bench", result["not_run"])

    def test_places_are_checked_before_anything_runs(self):
        self.script("pack/codec_cuda_test", "touch ran\n")
        for path in (self.folder, self.at("pack/bench_gpu/gpu.json"), "/proc/gpu.json"):
            done = self.run_gpu("--programs", self.at("pack"), "--json", path)
            self.assertEqual(done.returncode, 2, path)
            self.assertIn(os.path.dirname(path), done.stderr)
        done = self.run_gpu("--pack", self.at("pack/"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("there already", done.stderr)
        self.assertEqual(self.run_gpu("--programs", self.at("none")).returncode, 2)

    def test_no_device(self):
        self.script("bin/nvidia-smi", "exit 9\n")
        done = self.run_gpu("--programs", self.at("pack"), "--json", self.at("gpu.json"))
        self.assertEqual(done.returncode, 3)
        self.assertIn("not run", done.stderr)

    def test_a_toolkit_that_is_too_old(self):
        self.script("bin/nvcc", 'echo "Cuda compilation tools, release 11.8, V11.8.89"\n')
        done = self.run_gpu("--pack", self.at("new"))
        self.assertEqual(done.returncode, 3)
        self.assertIn("CUDA 11.8", done.stderr)
        self.assertFalse(os.path.exists(self.at("new")))

    def test_stopping_leaves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.script("pack/bench_gpu", 'touch "$0.started"; exec sleep 60\n')
            started = self.at("pack/bench_gpu.started")
            process = subprocess.Popen([sys.executable, GPU, "--programs", self.at("pack"), "--json", self.at("gpu.json")], env=self.env,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            while not os.path.exists(started) and process.poll() is None:
                time.sleep(0.01)
            process.send_signal(number)
            _, said = process.communicate(timeout=20)
            self.assertEqual(process.returncode, 130)
            self.assertNotIn("Traceback", said)
            self.assertIn("stopped", said)
            self.assertEqual(os.listdir(self.at("tmp")), [])
            self.assertFalse(os.path.exists(self.at("gpu.json")))
            os.unlink(started)


if __name__ == "__main__":
    unittest.main()
