// SPDX-License-Identifier: MIT
//
// roots.h - words that lie elsewhere than in memory: in registers, and in what the kernel holds. What they
// lead to is reached.
#pragma once

#include "engine/inspect/inspect.h"
#include "engine/memory/recoded.h"
#include "search/search.h"

struct roots {
	struct inspection *l;
	struct search *s;   // nodes: suspects
	uint64_t opaque;    // words so far that look like keys (opaque_words.h)
	uint64_t halves[2]; // addresses so far that numbers of 32 bits were compared with; 1: begins alone
	struct recoded recoded;
};

// Of all threads.
void roots_registers(struct roots *r);
// Data of registrations, of timers, and threads' settings. False if it cannot be seen.
bool roots_kernel_held(struct roots *r);

// As struct queues calls them; ctx: the roots. Of words as they are; of words and numbers in any form; of
// one number; of numbers that are written out.
void roots_pointers(void *ctx, const char *where, const unsigned char *bytes, size_t n);
void roots_bytes(void *ctx, const char *where, const unsigned char *bytes, size_t n);
void roots_number(void *ctx, const char *where, uint64_t number);
void roots_text(void *ctx, const char *where, const char *text);
