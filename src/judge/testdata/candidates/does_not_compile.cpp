// SPDX-License-Identifier: Apache-2.0
// FAILS: built
// EVIDENCE: candidate.cpp:4
int x = "text";
