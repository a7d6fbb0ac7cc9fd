// SPDX-License-Identifier: MIT
//
// Where a thread's own stack begins: the main thread's is the kernel's mapping [stack]; that of any
// other is what the C library's record of the thread says, which lies at the top of the stack.
#include "search/stacks/thread_stack.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

// The C library's own record of a thread lies at the top of its stack: it begins
// with a pointer to itself, has the thread's number, and the stack's bounds.
static bool stack_in(const uint64_t *record, uint64_t at, size_t words, int tid, uint64_t sp,
		     struct span *out, uint64_t *says)
{
	enum { NUMBER_WITHIN = 128, RECORD_BYTES = 1 << 13 };
	bool found = false;
	for (size_t i = 0; i < NUMBER_WITHIN && i < words; i++)
		found |= (uint32_t)record[i] == (uint32_t)tid || record[i] >> 32 == (uint32_t)tid;
	if (!found || words < 3 || record[0] != at || record[2] != at)
		return false;
	for (size_t i = 3; i + 2 < words && i < RECORD_BYTES / 8; i++) {
		uint64_t lo = record[i], end = lo + record[i + 1], guard = record[i + 2];
		if (lo < PAGE || lo % 16 || end <= at || end - at > RECORD_BYTES || guard % PAGE ||
		    lo + guard >= sp || lo > sp)
			continue;
		*out = (struct span){lo + guard, at};
		*says = at + 8 * i;
		return true;
	}
	return false;
}

bool thread_stack_find(const struct memory *m, int tid, uint64_t sp, struct span *out, uint64_t *says)
{
	enum { LINE = 64, ABOVE = 1 << 20 };
	const struct maps_line *line = memory_map(m, sp);
	if (!line)
		return false;
	if (tid == m->pid) {
		*out = (struct span){line->lo, line->hi};
		*says = 0;
		return !strcmp(line->path, "[stack]");
	}
	uint64_t from = (sp + LINE - 1) & ~(uint64_t)(LINE - 1),
		 n = line->hi - from < ABOVE ? line->hi - from : ABOVE;
	uint64_t *words = line->hi > from ? malloc(n) : NULL;
	size_t got = words ? memory_peek(m, from, words, n, false) : 0;
	bool found = false;
	for (size_t at = 0; !found && at + LINE <= got; at += LINE)
		found = words[at / 8] == from + at &&
			stack_in(words + at / 8, from + at, (got - at) / 8, tid, sp, out, says);
	free(words);
	return found;
}
