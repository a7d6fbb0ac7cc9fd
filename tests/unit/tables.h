// SPDX-License-Identifier: MIT
//
// tables.h - a world with one image whose tables a test fills by hand: no files. Times are ns.
// A test adds rows, calls tables_index(), and ends with tables_close().
#pragma once

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "analyze/report/finding.h"

enum { TABLES_ROWS = 16 };

struct tables {
	struct world world;
	struct image image;
	struct { uint64_t index; struct ctp_state s; } states[TABLES_ROWS];
	struct { uint64_t index; struct ctp_fd f; } fds[TABLES_ROWS];
	struct { uint64_t index; struct ctp_thread t; } threads[TABLES_ROWS];
	struct { uint64_t index; struct ctp_name n; } names[TABLES_ROWS];
	struct ctp_cand cands[TABLES_ROWS];
};

#define TABLES_OF(array, count) \
	(struct table) { .rows = (const void *)(array), .n = (count), .row_bytes = sizeof(*(array)), .indexed = true }

static inline void tables_init(struct tables *t)
{
	memset(t, 0, sizeof(*t));
	t->world.images = &t->image;
	t->world.nimages = t->world.processes = 1;
	t->world.has_last_tables = true;
	t->world.manifest.ticks_are_ns = true;
	t->image.stations = TABLES_OF(t->states, 0);
	t->image.fds = TABLES_OF(t->fds, 0);
	t->image.threads = TABLES_OF(t->threads, 0);
	t->image.names = TABLES_OF(t->names, 0);
	t->image.cands = (struct table){ .rows = (const void *)t->cands, .row_bytes = sizeof(*t->cands) };
}

// A coroutine that is suspended at this stack since then, and waits for nothing.
static inline struct ctp_state *tables_suspended(struct tables *t, uint64_t id, uint32_t stack, uint64_t since)
{
	size_t row = t->image.stations.n++;
	assert(row < TABLES_ROWS);
	t->states[row].index = row;
	t->states[row].s = (struct ctp_state){ .id = id, .entity = CTP_COROUTINE, .life = CTP_SUSPENDED, .runs = 1,
					       .since = since, .stack = stack, .lo = 0x10000 * id, .hi = 0x10000 * id + 0x8000 };
	return &t->states[row].s;
}

// Its last slice named the descriptor so.
static inline struct ctp_wait *tables_wait(struct ctp_state *s, int32_t fd, uint32_t gen, uint32_t how)
{
	struct ctp_wait *w = &s->waits[s->nwaits++];
	*w = (struct ctp_wait){ .fd = fd, .gen = gen, .events = EPOLLIN, .how = how, .epfd = -1 };
	return w;
}

// An open descriptor that is registered nowhere.
static inline struct ctp_fd *tables_fd(struct tables *t, int32_t fd, uint32_t gen)
{
	size_t row = t->image.fds.n++;
	assert(row < TABLES_ROWS);
	t->fds[row].index = (uint64_t)fd;
	t->fds[row].f = (struct ctp_fd){ .gen = gen, .life = CTP_FD_OPEN, .kind = CTP_FD_TCP, .reg_epfd = -1, .reg_events = EPOLLIN };
	return &t->fds[row].f;
}

static inline struct ctp_thread *tables_thread(struct tables *t, uint32_t slot, uint64_t native)
{
	size_t row = t->image.threads.n++;
	assert(row < TABLES_ROWS);
	t->threads[row].index = slot;
	t->threads[row].t = (struct ctp_thread){ .life = CTP_THREAD_LIVE, .tid = 100 + slot, .native = native };
	return &t->threads[row].t;
}

static inline void tables_name(struct tables *t, uint64_t id, const char *text)
{
	size_t row = t->image.names.n++;
	assert(row < TABLES_ROWS);
	t->names[row].n.id = id;
	snprintf(t->names[row].n.text, sizeof(t->names[row].n.text), "%s", text);
}

static inline void tables_index(struct tables *t)
{
	// Again, where the tables have changed since.
	free(t->image.by_data.next);
	free(t->image.by_mind.next);
	free(t->image.row_flags);
	int r = image_index(&t->image);
	assert(!r);
	(void)r;
	t->world.counts = t->image.counts;
}

static inline void tables_close(struct tables *t)
{
	image_close(&t->image);
}
