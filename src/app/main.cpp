// SPDX-License-Identifier: Apache-2.0
// The szarena program.
#include "app/commands.h"

int main(int argc, char** argv) { return szarena::app::RunCli(argc, argv); }
