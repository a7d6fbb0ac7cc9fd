// SPDX-License-Identifier: MIT
//
// shapes.h - what looks like a saved context in memory, before anything is said of it.
#pragma once

#include "find/sites.h"
#include "search/memory/span.h"

enum shape_kind { SHAPE_UCONTEXT, SHAPE_JMPBUF, SHAPE_ASSEMBLY };

enum { SHAPE_HOLDERS = 4 };

struct shape {
	enum shape_kind kind;
	bool created; // it never ran, by where it begins
	uint32_t engine;
	uint64_t block; // where it was saved: the ucontext_t, the jmp_buf, or the word that holds the saved
			// stack pointer; 0: on the stack, and no word that holds it was found
	uint64_t saved; // of SHAPE_ASSEMBLY: the stack pointer as saved
	uint64_t regs[CTP_REGS];           // as its caller has them once it goes on
	uint64_t link, stack_lo, stack_hi; // of SHAPE_UCONTEXT, as it says
	uint64_t holders[SHAPE_HOLDERS];   // of SHAPE_ASSEMBLY: words that hold `saved`
	uint8_t nholders;
	struct span run; // of pages around its stack pointer that were touched (touched.h); set by contexts.c
	bool copied;     // of SHAPE_UCONTEXT: it does not point to its own floating-point state
};

struct shapes {
	struct shape *v; // by kind, then by address
	size_t n, capacity;
	uint64_t bytes;    // looked at, the first time
	char partial[160]; // why not all was looked at; "": it was
};

// 0, also if not all could be looked at (`partial`); -ENOMEM.
int shapes_find(struct shapes *out, const struct image *im, const struct sites *s);
// Reads one anew where it was found; false: it is not there any more.
bool shapes_again(struct shape *one, const struct image *im, const struct sites *s);
// Where two words say where it goes on, for many to be read at once (0: in no such place), and whether these
// are still as they were.
uint64_t shapes_where(const struct shape *one);
bool shapes_keeps(const struct shape *one, const struct image *im, const uint64_t words[2]);
void shapes_deinit(struct shapes *s);
