// SPDX-License-Identifier: Apache-2.0
// "did you mean" for misspelt names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace szarena::csl {

// ", did you mean 'x'?" for the nearest candidate, or an empty text where none is near.
std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace szarena::csl
