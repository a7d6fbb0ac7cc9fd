// SPDX-License-Identifier: MIT
//
// co_patched.c - co.h's engines on switch functions of the program's own (switchers.S): nobody
// makes a call for a new context, it is laid out in memory. A word of it is where the stack pointer
// is kept, or all of its registers.
#include "co.h"

#include <string.h>

void sw_slot(void *from, void *to);
void sw_moved(void *from, void *to);
void sw_slot_back(void *to, void *from);
long sw_flag(void *from, void *to, long data, long floats);
void sw_floats(void *from, void *to, long data);
void sw_enter(void *nothing, void *to, long data);
void sw_from(void *from, void *to);
void sw_order(void *from, void *to);
void sw_order_slot(void *from, void *to);
void sw_struct(void *from, void *to);
int sw_save(void *regs) __attribute__((returns_twice));
void sw_restore(void *regs, int value);
void sw_entry(void);

static uint64_t *top_of(const struct co *c)
{
	return (uint64_t *)(((uint64_t)c->stack + c->bytes - 64) & ~15ULL);
}

static uint64_t entry(void)
{
	uint64_t at;
	void (*fn)(void) = sw_entry;
	memcpy(&at, &fn, sizeof(at));
	return at;
}

// On the stack: r15, r14, r13, r12, rbx, rbp, where it begins
static void make_pushed(struct co *c)
{
	uint64_t *sp = top_of(c) - 8;
	memset(sp, 0, 7 * sizeof(*sp));
	sp[4] = (uint64_t)c;
	sp[6] = entry();
	c->own.fcontext = sp;
}

static void swap_slot(struct co *c, union co_context *from, union co_context *to)
{
	(void)c;
	sw_slot(from, to);
}

static void leave_slot(union co_context *to)
{
	void *nowhere;
	sw_slot(&nowhere, to);
}

static void swap_from(struct co *c, union co_context *from, union co_context *to)
{
	(void)c;
	sw_from(from, to->fcontext);
}

static void leave_from(union co_context *to)
{
	void *nowhere;
	sw_from(&nowhere, to->fcontext);
}

static void swap_order(struct co *c, union co_context *from, union co_context *to)
{
	(void)c;
	sw_order(from, to->fcontext);
}

static void leave_order(union co_context *to)
{
	void *nowhere;
	sw_order(&nowhere, to->fcontext);
}

static void swap_order_slot(struct co *c, union co_context *from, union co_context *to)
{
	(void)c;
	sw_order_slot(from, to);
}

static void leave_order_slot(union co_context *to)
{
	void *nowhere;
	sw_order_slot(&nowhere, to);
}

static void swap_moved(struct co *c, union co_context *from, union co_context *to)
{
	(void)c;
	sw_moved(from, to);
}

static void leave_moved(union co_context *to)
{
	void *nowhere;
	sw_moved(&nowhere, to);
}

// On the stack: control words, r12, r13, r14, r15, rbx, rbp, where it begins
static void make_below(struct co *c)
{
	uint64_t *sp = top_of(c) - 9;
	memset(sp, 0, 8 * sizeof(*sp));
	__asm__("stmxcsr %0\n\tfnstcw %1" : "=m"(((uint32_t *)sp)[0]), "=m"(((uint32_t *)sp)[1]));
	sp[5] = (uint64_t)c;
	sp[7] = entry();
	c->own.fcontext = sp;
}

static void swap_flag(struct co *c, union co_context *from, union co_context *to)
{
	(void)c;
	sw_flag(from, to->fcontext, 0, 1);
}

static void leave_flag(union co_context *to)
{
	void *nowhere;
	sw_flag(&nowhere, to->fcontext, 0, 0);
}

static void swap_floats(struct co *c, union co_context *from, union co_context *to)
{
	(void)c;
	sw_floats(from, to->fcontext, 0);
}

static void leave_floats(union co_context *to)
{
	sw_enter(NULL, to->fcontext, 0);
}

// On the stack: where it begins; in the context: sp, rbp, rbx ...
static void make_back(struct co *c)
{
	uint64_t *sp = top_of(c) - 2, *regs = (uint64_t *)&c->own;
	sp[0] = entry();
	regs[0] = (uint64_t)sp;
	regs[2] = (uint64_t)c;
}

static void swap_back(struct co *c, union co_context *from, union co_context *to)
{
	(void)c;
	sw_slot_back(to, from);
}

static void leave_back(union co_context *to)
{
	union co_context nowhere;
	sw_slot_back(to, &nowhere);
}

static void make_struct(struct co *c)
{
	uint64_t *regs = (uint64_t *)&c->own;
	regs[4] = entry();
	regs[5] = (uint64_t)top_of(c);
	regs[6] = (uint64_t)c;
	__asm__("fnstcw %0\n\tstmxcsr %1" : "=m"(regs[8]), "=m"(((uint32_t *)regs)[17]));
}

static void swap_struct(struct co *c, union co_context *from, union co_context *to)
{
	(void)c;
	sw_struct(from, to);
}

static void leave_struct(union co_context *to)
{
	union co_context nowhere;
	sw_struct(&nowhere, to);
}

static void make_saved(struct co *c)
{
	uint64_t *regs = (uint64_t *)&c->own;
	regs[0] = (uint64_t)c;
	regs[6] = (uint64_t)top_of(c);
	regs[7] = entry();
}

static void swap_saved(struct co *c, union co_context *from, union co_context *to)
{
	(void)c;
	if (!sw_save(from))
		sw_restore(to, 1);
}

static void leave_saved(union co_context *to)
{
	sw_restore(to, 1);
}

const struct co_engine co_patched[] = {
	{"moved", make_pushed, swap_moved, leave_moved},    {"flag", make_below, swap_flag, leave_flag},
	{"floats", make_below, swap_floats, leave_floats},
	{"slot", make_pushed, swap_slot, leave_slot},	    {"from", make_pushed, swap_from, leave_from},
	{"order", make_pushed, swap_order, leave_order},
	{"order_slot", make_pushed, swap_order_slot, leave_order_slot},
	{"slot_back", make_back, swap_back, leave_back},    {"struct", make_struct, swap_struct, leave_struct},
	{"saved", make_saved, swap_saved, leave_saved},	    {NULL, NULL, NULL, NULL},
};
