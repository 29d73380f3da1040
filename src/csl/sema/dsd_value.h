// SPDX-License-Identifier: Apache-2.0
// DSD values known at compile time, as descriptors.
#pragma once

#include "bytecode/descriptor.h"
#include "csl/sema/value.h"

namespace szarena::csl {

Value MakeDsd(TypeId type, const bytecode::Descriptor& descriptor);
bytecode::Descriptor DescriptorOf(const DsdBytes& bytes);

}  // namespace szarena::csl
