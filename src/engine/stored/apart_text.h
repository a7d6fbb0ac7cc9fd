// SPDX-License-Identifier: MIT
//
// apart_text.h - numbers that are written out, in what the kernel or a file holds: names, above all.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Tells of all numbers that the text may stand for and that are as large as an address above 4 GiB: in any
// base that is common, with letters before them or none.
void apart_text(const unsigned char *text, size_t n, void (*found)(void *ctx, uint64_t number), void *ctx);
// The same of longer text, as of a file: numbers in hexadecimal and decimal digits alone, each of all its
// digits (of hexadecimal ones the last twelve).
void apart_numbers(const unsigned char *text, size_t n, void (*found)(void *ctx, uint64_t number), void *ctx);
