// SPDX-License-Identifier: MIT
//
// program.h - the coroutine functions of all object files that a program has mapped.
#pragma once

#include "base/maps.h"
#include "frames/pairs.h"

struct program {
	pid_t pid; // 0: a core's; its files are looked for by their names
	const struct maps_line *maps;
	size_t nmaps;
	bool by_code; // also of objects without a symbol table, as far as their code shows them
};

// Adds and sorts the pairs. *unnamed: the first object that no longer has a symbol table, but code that was
// compiled from C++20 coroutines cannot be excluded in (the program itself); NULL: none. 0 or -ENOMEM.
int program_pairs(struct pairs *p, const struct program *of, const char **unnamed);
