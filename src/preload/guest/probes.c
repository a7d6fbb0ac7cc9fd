// SPDX-License-Identifier: MIT
//
// Probes: functions of the program's own that are called where its events are signalled.
//
// A probe has a slot whose memory is never freed, so a thread that signals an event may read it at any time.
// The signalling thread enters its call into the slot's list before it checks that the slot is live. The
// detaching thread first marks the slot as leaving, and then waits until it has seen each entry of the list
// free once. In the single order of these accesses (ctp_order_*), either the signalling thread sees the mark
// and makes no call, or the detaching thread sees the call. Signalling takes no lock. A call is identified by
// its coroutine, which may continue on another thread.
//
// Invariants: call, data and rows change only while the slot is free. A slot that leaves is free when the
// list of its calls is empty.
#include "preload/guest/probes.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "cpu.h"
#include "preload/guest/events.h"

enum { FREE, LIVE, LEAVES, STATES }; // slot.state: how often it was used * STATES + one of these

struct slot {
	uint32_t state;
	uint32_t missed;                      // calls that were not made, as the list was full
	uint64_t calls[CTP_PROBE_CALLS_MOST]; // of the coroutine (struct ctp_state *); 0: free
	uint64_t rows[CTP_EVENTS_MAX / 64];   // the events
	char provider[CTP_PROBE_NAME_BYTES], name[CTP_PROBE_NAME_BYTES];
	uint32_t fields; // CTP_PROBE_ANY, or
	unsigned char kinds[CTP_EVENT_FIELDS], sizes[CTP_EVENT_FIELDS];
	ctp_probe_function *call;
	void *data;
	struct ctp_probe_typed_ typed;
	const ctp_probe_group *group;
};
static struct slot slots[CTP_PROBE_MOST];
static uint32_t used; // slots that have ever been used

// Of those who attach and detach. The loader's lock is taken before it (events_change).
static uint32_t lock;

static void pause_for(unsigned round)
{
	struct timespec t = {.tv_nsec = 100000};
	if (round < 64)
		cpu_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	else
		cpu_syscall(SYS_nanosleep, (long)&t, 0, 0, 0, 0, 0);
}

static void lock_take(void)
{
	for (unsigned round = 0; !ctp_cas32(&lock, 0, 1); round++)
		pause_for(round);
}

static void lock_give(void)
{
	ctp_store32(&lock, 0);
}

static bool row_in(const struct slot *s, uint32_t row)
{
	return row < CTP_EVENTS_MAX && ctp_load64(&s->rows[row / 64]) >> row % 64 & 1;
}

static bool is_live(const struct slot *s)
{
	return ctp_order_load32(&s->state) % STATES == LIVE;
}

// ------------------------------------------------------------------ who signals

// The coroutine, or the thread, that runs; 0: not known here.
static uint64_t who_runs(void)
{
	struct thread_ctx *g = ctp_load32(&ctp_tracer->attached) ? guest_enter() : NULL;
	if (!g)
		return 0;
	uint64_t who = (uint64_t)(uintptr_t)g->current;
	guest_leave(g);
	return who;
}

static uint64_t *calls_take(struct slot *s, uint64_t who)
{
	unsigned from = (unsigned)(who >> 6) ^ (unsigned)(who >> 14);
	for (unsigned i = 0; i < CTP_PROBE_CALLS_MOST; i++) {
		uint64_t *c = &s->calls[(from + i) % CTP_PROBE_CALLS_MOST];
		if (!ctp_load64(c) && ctp_order_cas64(c, 0, who))
			return c;
	}
	return NULL;
}

static void free_if_empty(struct slot *s, uint32_t state)
{
	for (unsigned i = 0; i < CTP_PROBE_CALLS_MOST; i++)
		if (ctp_order_load64(&s->calls[i]))
			return;
	ctp_cas32(&s->state, state, state - LEAVES + STATES + FREE);
}

// A child made by fork has emptied the list: then the entry is not ours any more.
static void calls_give(struct slot *s, uint64_t *entry, uint64_t who)
{
	ctp_order_cas64(entry, who, 0);
	uint32_t state = ctp_order_load32(&s->state);
	if (CTP_UNLIKELY(state % STATES == LEAVES))
		free_if_empty(s, state);
}

static void call(struct slot *s, const struct ctp_event_info *event, const uint64_t *words, uint64_t who)
{
	uint64_t *entry = calls_take(s, who);
	if (!entry) {
		ctp_add32(&s->missed, 1);
		return;
	}
	if (is_live(s) && row_in(s, event->row)) {
		ctp_signal signal = {event, words};
		s->call(&signal, s->data);
	}
	calls_give(s, entry, who);
}

void probes_call(const struct ctp_event_info *event, const uint64_t *words)
{
	int e = errno;
	uint64_t who = who_runs();
	uint32_t n = ctp_load32(&used);
	for (uint32_t i = 0; who && i < n; i++)
		if (is_live(&slots[i]) && row_in(&slots[i], event->row))
			call(&slots[i], event, words, who);
	errno = e;
}

// ------------------------------------------------------------------ attaching

// 0: it is another event; -EPROTOTYPE: its fields are others; 1: it is this one.
static int matches(const struct slot *s, const struct ctp_event_row *row)
{
	size_t provider = strnlen(row->text, row->text_bytes) + 1;
	if (provider >= row->text_bytes || strcmp(row->text, s->provider) != 0 ||
	    strcmp(row->text + provider, s->name) != 0)
		return 0;
	if (s->fields == CTP_PROBE_ANY)
		return 1;
	bool same = s->fields == row->fields && memcmp(s->kinds, row->kinds, s->fields) == 0 &&
		    memcmp(s->sizes, row->sizes, s->fields) == 0;
	return same ? 1 : -EPROTOTYPE;
}

// What the slot is attached to, of all rows: 0, or an error.
static int choose_rows(struct slot *s)
{
	const struct ctp_region *r = &ctp_tracer->region;
	uint32_t n = ctp_load32(&r->ext->events);
	int error = -ENOENT, found = 0;
	for (unsigned i = 0; i < CTP_EVENTS_MAX / 64; i++)
		ctp_store64(&s->rows[i], 0);
	for (uint32_t i = 0; i < n && i < r->events_max && i < CTP_EVENTS_MAX; i++) {
		int m = matches(s, &r->events[i]);
		if (m > 0)
			ctp_order_or64(&s->rows[i / 64], (uint64_t)1 << i % 64);
		found |= m > 0;
		error = m < 0 ? m : error;
	}
	return found ? 0 : error;
}

static int fill(struct slot *s, const struct ctp_probe_wish *w)
{
	memcpy(s->provider, w->provider, strlen(w->provider) + 1);
	memcpy(s->name, w->name, strlen(w->name) + 1);
	s->fields = w->fields;
	if (w->fields != CTP_PROBE_ANY) {
		memcpy(s->kinds, w->kinds, w->fields);
		memcpy(s->sizes, w->sizes, w->fields);
	}
	s->call = w->call;
	s->typed = (struct ctp_probe_typed_){w->typed, w->data};
	s->data = w->typed ? &s->typed : w->data;
	s->group = w->group;
	ctp_store32(&s->missed, 0);
	return choose_rows(s);
}

static bool works_here(void)
{
	return ctp_load32(&ctp_tracer->attached) && ctp_tracer->region.events && !ctp_tracer->v1;
}

struct attaching {
	const struct ctp_probe_wish *wish;
	uint64_t handle;
	int error;
};

static uint64_t handle_of(const struct slot *s, uint32_t state)
{
	return (uint64_t)(state / STATES) << 16 | (uint64_t)(s - slots + 1);
}

static void attach(void *arg)
{
	struct attaching *a = arg;
	lock_take();
	a->error = -ENOSPC;
	for (uint32_t i = 0; i < CTP_PROBE_MOST; i++) {
		struct slot *s = &slots[i];
		uint32_t state = ctp_order_load32(&s->state);
		if (state % STATES != FREE)
			continue;
		a->error = fill(s, a->wish);
		if (a->error)
			break;
		a->handle = handle_of(s, state);
		ctp_order_store32(&s->state, state + LIVE);
		if (i >= ctp_load32(&used))
			ctp_store32(&used, i + 1);
		break;
	}
	lock_give();
}

static bool is_name(const char *name)
{
	return name && strnlen(name, CTP_PROBE_NAME_BYTES) < CTP_PROBE_NAME_BYTES;
}

CTP_HOOK ctp_probe *ctp_probe_begin(const struct ctp_probe_wish *w, int *error)
{
	struct attaching a = {.wish = w};
	if (w->bytes < sizeof(*w) || !is_name(w->provider) || !is_name(w->name) || !w->call ||
	    (w->fields != CTP_PROBE_ANY && w->fields > CTP_EVENT_FIELDS))
		a.error = -EINVAL;
	else if (!works_here())
		a.error = -ENOSYS;
	else
		events_change(attach, &a);
	*error = -a.error;
	return a.error ? NULL : (ctp_probe *)(uintptr_t)a.handle;
}

bool probes_want(uint32_t row)
{
	uint32_t n = ctp_load32(&used);
	for (uint32_t i = 0; i < n; i++)
		if (is_live(&slots[i]) && row_in(&slots[i], row))
			return true;
	return false;
}

void probes_defined(uint32_t row)
{
	uint32_t n = ctp_load32(&used);
	if (!n || row >= CTP_EVENTS_MAX)
		return;
	lock_take();
	for (uint32_t i = 0; i < n; i++)
		if (is_live(&slots[i]) && matches(&slots[i], &ctp_tracer->region.events[row]) > 0)
			ctp_order_or64(&slots[i].rows[row / 64], (uint64_t)1 << row % 64);
	lock_give();
}

void probes_forked(void)
{
	for (uint32_t i = 0; i < used; i++) {
		struct slot *s = &slots[i];
		memset(s->calls, 0, sizeof(s->calls));
		memset(s->rows, 0, sizeof(s->rows));
		if (s->state % STATES == LEAVES)
			s->state += STATES - LEAVES;
	}
	lock = 0;
}

// ------------------------------------------------------------------ detaching

struct me {
	const struct thread_ctx *g; // NULL: not known
	uint64_t current, before;   // the same before the thread first switched
	uint32_t slot;
};

static struct me who_am_i(void)
{
	struct me m = {0};
	struct thread_ctx *g = ctp_load32(&ctp_tracer->attached) ? guest_enter() : NULL;
	if (!g)
		return m;
	m = (struct me){.g = g, .current = (uint64_t)(uintptr_t)g->current, .slot = g->slot};
	m.before = g->current == g->native ? (uint64_t)(uintptr_t)&g->unnamed : m.current;
	guest_leave(g);
	return m;
}

static bool is_me(const struct me *m, uint64_t who)
{
	return m->g && (who == m->current || who == m->before);
}

// Is it a coroutine that this thread has run last, and that does not run?
static bool waits_for_me(const struct me *m, uint64_t who)
{
	const struct ctp_region *r = &ctp_tracer->region;
	uint64_t lo = (uint64_t)(uintptr_t)r->states, hi = (uint64_t)(uintptr_t)(r->states + r->stations_max);
	struct ctp_state s;
	return m->g && who >= lo && who < hi &&
	       ctp_state_read((const struct ctp_state *)(uintptr_t)who, &s) && s.life == CTP_SUSPENDED &&
	       s.thread == m->slot;
}

// Until every call that may have begun has ended, but for the caller's own.
static long wait_for_calls(struct slot *s, const struct me *m)
{
	for (unsigned i = 0; i < CTP_PROBE_CALLS_MOST; i++) {
		uint64_t first = ctp_order_load64(&s->calls[i]);
		for (unsigned round = 0; first && !is_me(m, first) && ctp_order_load64(&s->calls[i]) == first;
		     round++) {
			if (round > 1 && waits_for_me(m, first))
				return -EDEADLK;
			pause_for(round);
		}
	}
	return 0;
}

static bool inside(const struct slot *s, const struct me *m)
{
	for (unsigned i = 0; i < CTP_PROBE_CALLS_MOST; i++)
		if (is_me(m, ctp_order_load64(&s->calls[i])))
			return true;
	return false;
}

struct detaching {
	uint64_t handle; // 0: any
	const ctp_probe_group *group;
	struct slot *slot;
	uint32_t state; // as it leaves
	bool first;     // it was live
};

static void leave(void *arg)
{
	struct detaching *d = arg;
	lock_take();
	uint32_t n = ctp_load32(&used);
	for (uint32_t i = 0; i < n && !d->slot; i++) {
		struct slot *s = &slots[i];
		uint32_t state = ctp_order_load32(&s->state);
		bool it = d->handle ? state % STATES != FREE && handle_of(s, state) == d->handle :
				      state % STATES == LIVE && s->group == d->group;
		if (!it)
			continue;
		d->slot = s;
		d->first = state % STATES == LIVE;
		d->state = state / STATES * STATES + LEAVES;
		ctp_order_store32(&s->state, d->state);
	}
	lock_give();
}

static long detach(struct detaching *d)
{
	events_change(leave, d);
	if (!d->slot)
		return -ESRCH;
	struct me m = who_am_i();
	if (!d->first && inside(d->slot, &m))
		return 0;
	long r = wait_for_calls(d->slot, &m);
	if (!r && d->first)
		r = (long)ctp_load32(&d->slot->missed);
	free_if_empty(d->slot, d->state);
	return r;
}

CTP_HOOK long ctp_probe_end(ctp_probe *probe)
{
	struct detaching d = {.handle = (uint64_t)(uintptr_t)probe};
	return works_here() && probe ? detach(&d) : -ESRCH;
}

CTP_HOOK long ctp_probe_end_group(const ctp_probe_group *group)
{
	long result = 0;
	while (works_here() && group) {
		struct detaching d = {.group = group};
		long r = detach(&d);
		if (!d.slot)
			break;
		result = r && !result ? r : result;
	}
	return result;
}
