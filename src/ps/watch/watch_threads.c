// SPDX-License-Identifier: MIT
//
// CPU time and slices of coroutines. Nothing records them, so threads are sampled between two
// inspections. The CPU time that a thread used since the previous sample (the kernel counts it
// in nanoseconds) is added to the coroutine that it runs at this sample: the sum is exact, the
// parts are estimates, good with many samples. A thread that has made no switch since an
// earlier sample runs the same slice, which is at least as long as that.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/idmap.h"
#include "ps/watch/watch_inspect.h"

enum { PIECE = 64, PAUSE_NS = 20000000, SHARE = 50 }; // samples: 1/50 of a CPU at most

struct one { // a slot of the thread table
	uint32_t tid, uses;
	int stat; // its schedstat; -1: not open, -2: it has none
	bool live;
	uint64_t cpu_ns, switches, current, native;
	uint64_t still_ns; // first sample at which it had made this many switches
};

struct watch_threads {
	const struct found *found;
	struct one *v;
	size_t n;
	struct watch_ran *ran;
	size_t nran, ran_capacity;
	struct idmap by_id; // ids to `ran`
	bool taken;         // what is in `ran` has been given out
	uint64_t cost_ns;
	struct watch_totals totals;
};

int watch_threads_new(struct watch_threads **out, const struct found *f)
{
	struct watch_threads *t = calloc(1, sizeof(*t));
	if (t)
		t->v = calloc(CTP_THREADS_MAX, sizeof(*t->v));
	if (!t || !t->v) {
		free(t);
		return -ENOMEM;
	}
	t->found = f;
	for (size_t i = 0; i < CTP_THREADS_MAX; i++)
		t->v[i].stat = -1;
	*out = t;
	return 0;
}

static void forget(struct one *o)
{
	if (o->stat >= 0)
		close(o->stat);
	*o = (struct one){.stat = -1};
}

void watch_threads_free(struct watch_threads *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < CTP_THREADS_MAX; i++)
		forget(&t->v[i]);
	free(t->v);
	free(t->ran);
	idmap_deinit(&t->by_id);
	free(t);
}

// CPU time used so far. False: not known.
static bool used(const struct watch_threads *t, struct one *o, uint64_t *ns)
{
	char text[96];
	if (o->stat == -1) {
		snprintf(text, sizeof(text), "/proc/%d/task/%u/schedstat", (int)t->found->pid, o->tid);
		o->stat = open(text, O_RDONLY | O_CLOEXEC);
		o->stat = o->stat < 0 ? -2 : o->stat;
	}
	ssize_t n = o->stat >= 0 ? pread(o->stat, text, sizeof(text) - 1, 0) : -1;
	text[n > 0 ? n : 0] = 0;
	unsigned long long v;
	if (n <= 0 || sscanf(text, "%llu", &v) != 1)
		return false;
	*ns = v;
	return true;
}

static struct watch_ran *ran_of(struct watch_threads *t, uint64_t id)
{
	uint32_t at = idmap_get(&t->by_id, id);
	if (at != IDMAP_NONE)
		return &t->ran[at];
	if (GROW(t->ran, t->nran, t->ran_capacity) || idmap_set(&t->by_id, id, (uint32_t)t->nran))
		return NULL;
	t->ran[t->nran] = (struct watch_ran){.id = id};
	return &t->ran[t->nran++];
}

static void look_at(struct watch_threads *t, struct one *o, const struct ctp_thread *row, uint64_t now)
{
	uint64_t cpu, more = 0;
	bool known = o->live && o->tid == row->tid && o->uses == row->uses;
	if (!known) {
		forget(o);
		o->tid = row->tid;
		o->uses = row->uses;
		o->live = true;
	}
	if (used(t, o, &cpu)) {
		more = known && cpu > o->cpu_ns ? cpu - o->cpu_ns : 0;
		o->cpu_ns = cpu;
		t->totals.cpu_ns += more;
		t->totals.cpu_known = true;
	}
	bool still = known && o->switches == row->switches && o->current == row->current;
	if (!still)
		o->still_ns = now;
	o->switches = row->switches;
	o->current = row->current;
	o->native = row->native;
	struct watch_ran *r = row->current && row->current != row->native ? ran_of(t, row->current) : NULL;
	if (!r)
		return;
	r->cpu_ns += more;
	if (now - o->still_ns > r->slice_ns)
		r->slice_ns = now - o->still_ns;
}

static void add(struct watch_totals *s, const struct ctp_thread *row)
{
	s->finished += row->finished;
	s->destroyed += row->destroyed;
	s->switches += row->switches;
	s->lost += row->lost;
	s->partial |= row->uses > 0;
	s->threads += row->life == CTP_THREAD_LIVE;
}

int watch_threads_sample(struct watch_threads *t)
{
	const struct ctp_ext *x = &t->found->header.ext;
	struct ctp_thread rows[PIECE];
	struct ctp_header h;
	uint64_t begun = clock_mono_ns();
	int e = source_read(&t->found->region, 0, &h, sizeof(h));
	uint64_t n = h.ext.thread_high;
	if (e)
		return e;
	if (t->taken) {
		idmap_deinit(&t->by_id);
		t->nran = 0;
		t->taken = false;
	}
	n = n > x->threads_max ? x->threads_max : n;
	n = n > CTP_THREADS_MAX ? CTP_THREADS_MAX : n;
	t->totals = (struct watch_totals){.cpu_ns = t->totals.cpu_ns};
	for (uint64_t at = 0; !e && at < n; at += PIECE) {
		uint64_t count = n - at < PIECE ? n - at : PIECE;
		e = source_read(&t->found->region, x->threads_off + at * sizeof(*rows), rows,
				count * sizeof(*rows));
		for (uint64_t i = 0; !e && i < count; i++) {
			add(&t->totals, &rows[i]);
			if (rows[i].life == CTP_THREAD_LIVE)
				look_at(t, &t->v[at + i], &rows[i], begun);
			else
				forget(&t->v[at + i]);
		}
	}
	uint64_t took = clock_mono_ns() - begun;
	t->cost_ns = t->cost_ns ? (t->cost_ns * 7 + took) / 8 : took;
	return e;
}

uint32_t watch_threads_native(const struct watch_threads *t, uint64_t id)
{
	for (size_t i = 0; id && i < CTP_THREADS_MAX; i++)
		if (t->v[i].live && t->v[i].native == id)
			return t->v[i].tid;
	return 0;
}

uint64_t watch_threads_pause_ns(const struct watch_threads *t)
{
	return t->cost_ns * SHARE > PAUSE_NS ? t->cost_ns * SHARE : PAUSE_NS;
}

const struct watch_ran *watch_threads_take(struct watch_threads *t, size_t *n)
{
	*n = t->nran;
	t->taken = true;
	return t->ran;
}

void watch_threads_totals(const struct watch_threads *t, struct watch_totals *out)
{
	*out = t->totals;
	// A coroutine may end on another thread than it began on, so that single counts go below zero.
	out->finished = out->finished > INT64_MAX ? 0 : out->finished;
	out->destroyed = out->destroyed > INT64_MAX ? 0 : out->destroyed;
}
