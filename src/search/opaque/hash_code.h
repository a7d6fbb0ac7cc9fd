// SPDX-License-Identifier: MIT
//
// hash_code.h - the hash codes that libstdc++ keeps beside the keys of a std::unordered_map or unordered_set
// of std::string: words without order that are computed from what lies beside them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "search/memory/memory.h"

// As std::hash<std::string> of libstdc++: MurmurHash64A with the seed 0xc70f6907.
uint64_t hash_code_of(const unsigned char *text, size_t n);

// Is the word at `at` the code of a std::string that lies in the 512 bytes before it?
bool hash_code_is(const struct memory *m, uint64_t word, uint64_t at);
