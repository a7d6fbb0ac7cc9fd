// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
// order: SIGUSR1
//
// As many units of 16 bytes as lie between the heap's first block and a coroutine are its
// number. There are three of them, and the numbers are small: one alone could be anything,
// but the three stand in one table.
#define JOBS 3
#include "ok001_hidden_unit_numbers.c"
