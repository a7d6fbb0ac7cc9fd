// SPDX-License-Identifier: MIT
//
// counts.h - what counts.c and odd.c (the less usual ways to switch) share.
#pragma once

#include <stddef.h>
#include <ucontext.h>

extern unsigned long made, switched;
extern int size;
void swap(ucontext_t *from, ucontext_t *to); // counted
void make(ucontext_t *uc, char *stack, size_t bytes, ucontext_t *link); // all but makecontext
void report(void);

void count_link(void);
void count_set(void);
void count_reuse(void);
void count_copy(void);
void count_args(void);
void count_twice(void);
void count_self(void);
void count_small(void);
void count_exit(void);
void count_signal(void);
void count_none(void);
void count_unaligned(void);
void count_closeall(void);
