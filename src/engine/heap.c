// SPDX-License-Identifier: MIT
//
// Finds the block of glibc's malloc that holds an address: by a walk along
// the headers of the main heap, of a thread arena's heap (heap_info at each
// 64 MiB), or of mmapped blocks. Nothing is believed but what proves itself:
// a walk counts only if every header is sound and it ends exactly at the
// heap's end. A block is [header + 16, next header): the last 8 usable bytes
// are the next header's, and pointers there are the allocator's own.
#include "engine/heap.h"

#include <stdlib.h>
#include <string.h>

#include "engine/proc.h"

enum { WINDOW = 1 << 18, PREVIOUS_IN_USE = 1, IS_MMAPPED = 2, FLAGS = 7, HEADER = 16 };
#define ARENA_BYTES (64ULL << 20)

struct walk {
	pid_t pid;
	uint64_t at; // of the window
	size_t have;
	unsigned char *window;
};

static bool word(struct walk *w, uint64_t addr, uint64_t *out)
{
	if (addr < w->at || addr + 8 > w->at + w->have) {
		w->at = addr;
		w->have = proc_peek(w->pid, addr, w->window, WINDOW, false);
		if (w->have < 8)
			return false;
	}
	memcpy(out, w->window + (addr - w->at), 8);
	return true;
}

static size_t first_from(const struct heap_query *q, size_t n, uint64_t addr)
{
	size_t lo = 0, hi = n;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (q[mid].addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

// Walks [from, end). True if sound throughout; then the queries are answered.
static bool walk_heap(struct walk *w, uint64_t from, uint64_t end, struct heap_query *q, size_t n, uint64_t deadline_ns)
{
	size_t i = first_from(q, n, from), first = i;
	uint64_t at = from, last = from;
	for (unsigned steps = 0; at < end; steps++) {
		uint64_t size, flags;
		if (steps % 65536 == 65535 && proc_now_ns() > deadline_ns)
			break;
		if (!word(w, at + 8, &size))
			break;
		flags = size & FLAGS;
		size &= ~(uint64_t)FLAGS;
		if (end - at <= 2 * HEADER && (size == 0 || size == HEADER)) { // fence posts of a heap that is full
			at = size ? at + size : end;
			continue;
		}
		if (size < 2 * HEADER || size % 16 || size > end - at || (flags & IS_MMAPPED))
			break;
		for (; i < n && q[i].addr < at + size; i++)
			if (q[i].addr >= at + HEADER)
				q[i].block = (struct span){at + HEADER, at + size};
		last = at;
		at += size;
	}
	bool sound = at == end;
	for (size_t k = first; k < i; k++)
		q[k].found = sound && q[k].block.hi && q[k].block.lo != last + HEADER; // never the top
	if (!sound)
		for (size_t k = first; k < i; k++)
			q[k].block = (struct span){0, 0};
	return sound;
}

// First blocks of an arena's first heap lie behind its struct malloc_state, whose size differs between releases.
static const uint64_t ARENA_FIRST[] = {0x8d0, 0x8c0, 0x8b0, 0x8a0, 0x890, 0x8e0, 0x30, 0x20};

static void arena(struct walk *w, uint64_t base, struct heap_query *q, size_t n, uint64_t deadline_ns)
{
	uint64_t info[4]; // ar_ptr, prev, size, mprotect_size
	if (proc_peek(w->pid, base, info, sizeof(info), false) != sizeof(info))
		return;
	if (info[2] < 4096 || info[2] > ARENA_BYTES || info[2] % 4096 || info[3] < info[2] || info[3] > ARENA_BYTES)
		return;
	bool first = info[0] > base && info[0] < base + 4096;
	if (first != (info[1] == 0) || (!first && info[1] % ARENA_BYTES))
		return;
	size_t count = sizeof(ARENA_FIRST) / sizeof(*ARENA_FIRST);
	for (size_t i = first ? 0 : count - 2; i < (first ? count - 2 : count); i++)
		if (walk_heap(w, base + ARENA_FIRST[i], base + info[2], q, n, deadline_ns))
			return;
}

// Mmapped blocks, one behind the other from the mapping's start.
static void mmapped(struct walk *w, const struct maps_line *m, struct heap_query *q)
{
	uint64_t at = m->lo, prev, size;
	while (at < m->hi && word(w, at, &prev) && word(w, at + 8, &size)) {
		if (prev || (size & FLAGS) != IS_MMAPPED || (size & ~(uint64_t)FLAGS) % 4096 || size < 4096 ||
		    (size & ~(uint64_t)FLAGS) > m->hi - at)
			return;
		size &= ~(uint64_t)FLAGS;
		if (q->addr < at + size) {
			q->found = q->addr >= at + HEADER;
			q->block = (struct span){at + HEADER, at + size};
			return;
		}
		at += size;
	}
}

static bool anonymous(const struct maps_line *m)
{
	return m && m->perms[0] == 'r' && m->perms[1] == 'w' && m->perms[3] == 'p' && m->ino == 0 &&
	       (!*m->path || !strncmp(m->path, "[anon", 5));
}

static int by_addr(const void *a, const void *b)
{
	const struct heap_query *x = a, *y = b;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

void heap_resolve(pid_t pid, const struct proc_maps *maps, struct heap_query *q, size_t n, uint64_t deadline_ns)
{
	struct walk w = {.pid = pid, .window = malloc(WINDOW)};
	if (!w.window || !n) {
		free(w.window);
		return;
	}
	qsort(q, n, sizeof(*q), by_addr);
	for (size_t i = 0; i < maps->n; i++) {
		uint64_t lo = maps->v[i].lo;
		if (strcmp(maps->v[i].path, "[heap]") || maps->v[i].perms[1] != 'w')
			continue;
		while (i + 1 < maps->n && maps->v[i + 1].lo == maps->v[i].hi && !strcmp(maps->v[i + 1].path, "[heap]"))
			i++;
		size_t k = first_from(q, n, lo);
		if (k < n && q[k].addr < maps->v[i].hi)
			walk_heap(&w, lo, maps->v[i].hi, q, n, deadline_ns);
	}
	uint64_t tried = 1;
	for (size_t i = 0; i < n; i++) {
		const struct maps_line *m = q[i].found ? NULL : proc_maps_find(maps, q[i].addr);
		uint64_t base = q[i].addr & ~(ARENA_BYTES - 1);
		if (!anonymous(m))
			continue;
		if (base >= m->lo && base != tried)
			arena(&w, base, q, n, deadline_ns);
		tried = base;
		if (!q[i].found)
			mmapped(&w, m, &q[i]);
	}
	free(w.window);
}

bool heap_is_idle(pid_t pid, uint64_t at)
{
	uint64_t size, next;
	if (proc_peek(pid, at + 8, &size, 8, false) != 8)
		return false;
	size &= ~(uint64_t)FLAGS;
	return proc_peek(pid, at + size + 8, &next, 8, false) != 8 || !(next & PREVIOUS_IN_USE);
}
