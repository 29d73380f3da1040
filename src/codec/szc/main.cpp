// SPDX-License-Identifier: Apache-2.0
#include "codec/szc/commands.h"

int main(int argc, char** argv) { return szarena::codec::szc::RunSzc(argc, argv); }
