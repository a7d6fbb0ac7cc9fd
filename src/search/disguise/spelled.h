// SPDX-License-Identifier: MIT
//
// spelled.h - addresses that are written out as text, as scripts and protocols keep them: in hexadecimal
// digits, in decimal ones, or as the digits of their bytes in the order of memory.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SPELLED_PARTS = 16, SPELLED_REACH = 24 };

// Four characters each: of any text of the address one of them lies where a number of 32 bits may. How many
// there are.
size_t spelled_parts(uint64_t address, uint32_t parts[SPELLED_PARTS]);

// Do the bytes have all of such a text, and no more digits, around the four characters at `at`?
bool spelled_at(const char *bytes, size_t n, size_t at, uint64_t address);
