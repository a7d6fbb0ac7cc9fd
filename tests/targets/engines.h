// SPDX-License-Identifier: MIT
//
// engines.h - programs that know how often they switched, one per way to
// switch: engines_<name>.c gives `cases`, engines.c runs the one that is asked
// for and prints "coroutines C switches S" last (the contract's words). Where a
// case knows how its coroutines ended it says "finished F destroyed D" before.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline))
enum { STACK = 64 << 10 };

struct engines_case {
	const char *name;
	void (*run)(void);
};
extern const struct engines_case cases[]; // ends with a name of NULL

extern int argument; // the number behind the case's name, or 0
void made(void); // one coroutine more
void switched(void); // one switch more: called by who is about to leave
void ended(unsigned long finished, unsigned long destroyed);
void report(void); // the last lines; by itself at the end of a case
void check_at(bool holds, const char *what, const char *file, int line);
#define check(condition) check_at(condition, #condition, __FILE__, __LINE__)

void make(ucontext_t *uc, char *stack, size_t bytes, void (*fn)(void), ucontext_t *link);
void swap(ucontext_t *from, ucontext_t *to); // counted
void set(ucontext_t *to);                    // counted
pthread_t thread(void *(*fn)(void *), void *arg);
void ticks(bool on); // a timer signal that strikes anywhere; its handler does nothing much
