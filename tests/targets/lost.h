// SPDX-License-Identifier: MIT
//
// lost.h - what lost.c (who waits, who closes) and keep.c (who could still
// resume them) share.
#pragma once

#include "co.h"
#include "must.h"

#define LOST_MAX 64

struct lost_options {
	const char *loop, *main, *fd, *how, *by, *reg, *n, *stack, *use, *keep, *way, *outside, *after, *engine;
};
extern struct lost_options opt;
extern int ep, count, victims[LOST_MAX];
bool is(const char *value, const char *want);

void lost_keep(co_fn *fn, int i); // makes waiter i, keeps a pointer as keep= says, runs it
void lost_way(void);              // prepares what way= says
void lost_accept(struct co_handler *h, uint32_t events);
_Noreturn void lost_tick(void);
