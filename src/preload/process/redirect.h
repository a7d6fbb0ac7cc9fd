// SPDX-License-Identifier: MIT
//
// redirect.h - the entries by which the loaded objects call the functions that we interpose, in a process
// into which this library was loaded late.
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

// Points all of them to our hooks (on), or back to the functions that they would have without us. Each entry
// is written in one store; the threads that run through it meanwhile take the one way or the other. How many.
// With the loader's lock held (loader_lock.h), like all here once the program runs: whoever loads an object
// closes what he has relocated.
uint32_t redirect_all(bool on);
// For the objects, by their load bias, that were opened since; if all are pointed to our hooks.
void redirect_again(bool (*wanted)(uint64_t base));
// Asks of each function that the object at this load bias calls for the hook that its entry is to lead to, if
// it leads to the real function now (*h); false: none.
struct real_hook;
void redirect_calls(uint64_t base, bool (*hook_of)(const char *name, struct real_hook *h));

// The part of an object that is read-only since it was relocated, by its program headers.
struct redirect_relro {
	uint64_t lo, hi;
};
struct redirect_relro redirect_relro(uint64_t base, const ElfW(Phdr) * ph, unsigned n);
// Writes a word of it. False: that is not allowed.
bool redirect_write(const struct redirect_relro *r, uint64_t *at, uint64_t value);
