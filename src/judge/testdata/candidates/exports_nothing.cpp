// SPDX-License-Identifier: Apache-2.0
// FAILS: started
// EVIDENCE: does not export
int szarena() { return 1; }
