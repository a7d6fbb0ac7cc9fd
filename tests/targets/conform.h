// SPDX-License-Identifier: MIT
//
// conform.h - what manual pages promise of the functions that switch contexts,
// checked by the program itself.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline))
enum { STACK = 128 << 10 };

struct conform {
	const char *name;
	void (*run)(void); // checks
};
extern const struct conform of_context[], of_jump[], of_unwind[]; // each ends with a name of NULL
extern const struct conform of_end[]; // these end the program, or a thread, by themselves

void check_at(bool holds, const char *what, const char *file, int line);
#define check(condition) check_at(condition, #condition, __FILE__, __LINE__)
void *run_thread(void *(*fn)(void *), void *arg); // what it returned
void context(ucontext_t *uc, void (*fn)(void), ucontext_t *link); // on a stack of its own, no arguments
