// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "codec/core/bound.h"
#include "codec/metrics/metrics.h"
#include "codec/szc/commands.h"
#include "data/json.h"

namespace szarena::codec::szc {
namespace {

using data::Json;

std::string Number(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "-";
}

}  // namespace

Result<ExitCode> RunCompare(const CompareArgs& args) {
  if (args.abs) SZARENA_TRY_VOID(CheckUserBound(*args.abs, "--abs"));
  SZARENA_TRY(const auto original, LoadInput(args.original, args.dtype, args.dims));
  SZARENA_TRY(const auto decompressed, LoadInput(args.decompressed, args.dtype, args.dims));
  const metrics::Options options{.eb = args.abs, .fill = args.fill, .threads = args.threads};
  ShowStage("comparing", args.original, original.size_bytes());
  const auto context = fmt::format("comparing '{}' with '{}'", args.original, args.decompressed);
  const auto stats =
      metrics::CompareErrors(ArrayOfField(original), ArrayOfField(decompressed), options);
  if (!stats) return WithContext(stats.error(), context);
  const std::vector<std::uint64_t> dims(original.dims().begin(), original.dims().end());
  const auto ssim =
      metrics::Ssim(ArrayOfField(original), ArrayOfField(decompressed), dims, options);
  if (!ssim) return WithContext(ssim.error(), context);
  EndStage();

  const auto& s = *stats;
  if (args.json) {
    Json counts = Json::MakeArray();
    for (const std::uint64_t count : s.histogram.counts) counts.Append(count);
    fmt::print(
        "{}\n",
        Json::Of({{"n", s.n},
                  {"violations", s.violations},
                  {"first_violation", s.violations > 0 ? Json(s.first_violation) : Json()},
                  {"max_abs_error", s.max_abs_error},
                  {"max_abs_error_at", s.max_abs_error_at},
                  {"psnr", s.psnr_db},
                  {"nrmse", s.nrmse},
                  {"rmse", s.rmse},
                  {"mean_error", s.mean_error},
                  {"max_error_over_range", s.max_error_over_range},
                  {"max_error_over_bound", args.abs ? Json(s.max_abs_error / *args.abs) : Json()},
                  {"ssim", *ssim},
                  {"error_autocorrelation", s.error_autocorrelation},
                  {"min", s.min},
                  {"max", s.max},
                  {"compared", s.compared},
                  {"non_finite", s.non_finite},
                  {"fill_values", s.fill_values},
                  {"broken", s.broken},
                  {"error_histogram", Json::Of({{"limit", s.histogram.limit},
                                                {"counts", std::move(counts)},
                                                {"outside", s.histogram.outside}})}})
            .Dump(2));
  } else {
    fmt::print(
        "values          {}\nviolations      {}{}\nmax abs error   {:.9g} (at {})\nPSNR            "
        "{} dB\nNRMSE           {}\n"
        "SSIM            {}\nautocorrelation {}\nnot finite      {}\nfill values     {}\nnot kept  "
        "      {}\n",
        s.n, s.violations, args.abs ? "" : " (no --abs: values not kept)", s.max_abs_error,
        s.max_abs_error_at, Number(s.psnr_db), Number(s.nrmse), Number(*ssim),
        Number(s.error_autocorrelation), s.non_finite, s.fill_values, s.broken);
  }
  return s.violations == 0 ? ExitCode::kDone : ExitCode::kCandidateFailed;
}

}  // namespace szarena::codec::szc
