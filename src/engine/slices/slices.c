// SPDX-License-Identifier: MIT
//
// The sampler. The thread's count of switches identifies a slice, so the switch path does no work
// for it. A slice that is seen at two turns, 5 ms apart, is sampled until it ends: /proc gives how
// long the thread ran, was ready to run, or slept. A thread has certainly slept between two samples
// that show it asleep in the same call with the same count of context switches: then a stop, a
// debugger or a late engine cannot have made the time. Only such time counts as a block, added up
// for each call. For a call that sleeps for a given time one sample is enough: its length is its argument.
#include "engine/slices/slices.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "ctp/rules.h"
#include "ctp/seq.h"
#include "engine/inspect/inspect.h"
#include "engine/target/names.h"
#include "engine/slices/slice.h"

#define MS 1000000ULL
#define AGAIN_LEAST (2 * MS)
#define AGAIN_MOST (300 * MS)
#define SOON_NS (1000 * MS) // a slice younger than that is looked at often
enum { SAMPLE_AFTER_MS = 5, LATE_MS = 25, GAP_MS = 400, ASKED_MOST_S = 1 << 20 };

// One slot of the thread table.
struct track {
	uint64_t id, switches; // of the slice; id 0: the thread's own stack, or nobody
	uint64_t seen_ns, due_ns;
	uint64_t waited; // switches + 1 when a coroutine of this slice was last seen in the loop's wait
	int32_t set;     // the loop's epoll set, + 1; 0: none seen yet
	bool polls;
	struct slice *slice;
};

struct slices {
	const struct ctp_region *r;
	pid_t pid;
	const struct witness_clock *clock;
	struct slice_sites *sites;
	struct unwind *unwind;
	uint64_t search_ns; // stations are not searched before
	uint64_t polled_ns; // the last turn
	uint64_t lock;      // the one named last
	char lock_name[sizeof(((struct slice_block *)0)->lock_name)];
	bool late;     // the last sample was long ago: a call that is found now may have lasted as long
	uint32_t high; // no track from here on was ever used
	struct track tracks[CTP_THREADS_MAX];
};

struct slices *slices_new(const struct ctp_region *r, pid_t pid, FILE *out, const struct witness_clock *clock)
{
	struct slices *s = calloc(1, sizeof(*s));
	struct slice_sites *sites = s ? slice_sites_new(out) : NULL;
	if (!sites) {
		free(s);
		return NULL;
	}
	s->r = r;
	s->pid = pid;
	s->clock = clock;
	s->sites = sites;
	return s;
}

static uint64_t to_ns(const struct slices *s, uint64_t ticks)
{
	const struct witness_clock *c = s->clock;
	return c->ns0 + (uint64_t)((double)(int64_t)(ticks - c->ticks0) * c->ns_per_tick);
}

// ------------------------------------------------------------- who waits meanwhile

static void find_served(const struct slices *s, uint32_t slot, struct slice_served *out)
{
	uint32_t high = ctp_load32(&s->r->ext->thread_high);
	*out = (struct slice_served){0};
	for (uint32_t i = 0; i < high && i < s->r->threads_max; i++) {
		const struct ctp_thread *t = &s->r->threads[i];
		const struct track *k = &s->tracks[i];
		bool away = k->slice && k->slice->cpu_ns + k->slice->blocked_ns >= SLICE_BLOCKED_NS;
		if (i == slot || ctp_load32(&t->life) != CTP_THREAD_LIVE || away)
			continue; // one that sits in a long slice itself, not by a stop, is there for nobody
		out->polls |= !t->polls && (t->flags & CTP_THREAD_LOOPS);
		if (!t->polls)
			continue;
		if (!k->set || out->n == SLICE_SETS)
			out->any = true;
		else
			out->sets[out->n++] = k->set - 1;
	}
}

static uint64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

// At most a twentieth of the engine's time. Asked again as long as nobody has seen what some loop polls.
static bool ask(struct slices *s, struct slice *l, uint64_t now)
{
	struct slice_served v;
	if ((l->asked && !l->vague) || now < s->search_ns)
		return l->asked;
	uint64_t begun = cpu_ns();
	struct slice found = *l;
	found.others = found.served = found.by_set = 0;
	find_served(s, l->slot, &v);
	uint64_t ticks = slice_find(s->r, &v, &found), since = ticks ? to_ns(s, ticks) : UINT64_MAX;
	s->search_ns = now + 20 * (cpu_ns() - begun);
	if (l->asked && (!ticks || found.changes != l->changes))
		return true; // it has ended meanwhile
	found.began_ns = !l->woke && since < l->began_ns ? since : l->began_ns;
	found.vague = v.any;
	found.asked = true;
	*l = found;
	return true;
}

// ------------------------------------------------------------- samples

static bool same_call(const struct proc_task *a, const struct proc_task *b)
{
	return a->nr >= 0 && a->nr == b->nr && a->args[0] == b->args[0] && a->sp == b->sp;
}

static bool slept_through(const struct proc_task *a, const struct proc_task *b)
{
	return a->state == 'S' && b->state == 'S' && !a->tracer && !b->tracer && same_call(a, b) &&
	       a->switches == b->switches && a->run_ns == b->run_ns;
}

static bool stands(const struct proc_task *t) // by no doing of its own
{
	return proc_task_stopped(t) || t->tracer;
}

// The thread sleeps, and not only since it was stopped and went on: for how long has it asked? 0: in no
// sleep.
static uint64_t asked_ns(pid_t pid, const struct proc_task *t)
{
	struct timespec until;
	bool clock = t->nr == SYS_clock_nanosleep;
	if (t->state != 'S' || t->restarted || t->tracer || (clock && t->args[1]) ||
	    (!clock && t->nr != SYS_nanosleep))
		return 0;
	if (proc_peek(pid, t->args[clock ? 2 : 0], &until, sizeof(until), false) != sizeof(until) ||
	    until.tv_sec < 0 || until.tv_sec > ASKED_MOST_S || (uint64_t)until.tv_nsec >= 1000 * MS)
		return 0;
	return (uint64_t)until.tv_sec * 1000 * MS + (uint64_t)until.tv_nsec;
}

static bool blocks(const struct slice *l)
{
	return l->asleep_ns >= SLICE_BLOCKED_NS || l->asked_ns >= SLICE_BLOCKED_NS;
}

static uint64_t longer(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void account(struct slice *l, const struct proc_task *t, uint64_t now)
{
	uint64_t dt = now - l->sampled_ns, cpu = t->run_ns - l->last.run_ns,
		 delayed = t->delay_ns - l->last.delay_ns;
	uint64_t rest = dt > cpu + delayed ? dt - cpu - delayed : 0;
	bool late = dt > GAP_MS * MS;
	l->cpu_ns += cpu;
	l->delayed_ns += delayed;
	if (t->state == 'S' && t->nr >= 0 && !same_call(&l->call, t)) { // another one than it was in before
		l->asleep_ns = l->asked_ns = 0;
		l->in_block = false;
		l->call = *t;
	}
	if (slept_through(&l->last, t)) {
		dt = late ? GAP_MS * MS : dt; // all of it, but then the machine itself may have slept
		l->asleep_ns += dt;
		l->blocked_ns += dt;
	} else if (!late && !stands(t) && !stands(&l->last) && t->state == 'S') {
		l->blocked_ns +=
			rest; // time that a ready thread waits is only added up when it runs: no block
	}
}

static const struct ctp_state *state_of(const struct slices *s, const struct slice *l)
{
	return l->station == UINT32_MAX ? NULL : &s->r->states[l->station];
}

// It has been asleep for long enough: in what? The longest sleep is kept.
static void look_at_block(struct slices *s, struct slice *l, const struct proc_task *t)
{
	struct slice_block b = {0};
	struct ctp_state st;
	const struct ctp_state *at = state_of(s, l);
	if (longer(l->asleep_ns, l->asked_ns) <= longer(l->block.ns, l->block.asked_ns) && !l->in_block)
		return;
	if (!l->in_block) {
		if (!at || !ctp_state_read(at, &st) || st.changes != l->changes)
			return;
		slice_blocked_in(s->r, s->pid, t, l->slot, &st, &s->unwind, &b);
		if (!b.kind || ctp_load64(&s->r->threads[l->slot].switches) != s->tracks[l->slot].switches)
			return;
		l->block = b;
		l->block.asked_ns = l->asked_ns;
		l->in_block = true;
	}
	l->block.ns = l->asleep_ns;
}

// It computes: where? What was noted after the slice ended belongs to another.
static void look_at_path(struct slices *s, struct slice *l)
{
	struct ctp_state st;
	const struct ctp_state *at = state_of(s, l);
	if (!l->tried && l->cpu_ns > l->blocked_ns) {
		l->path = slice_path_open(l->tid);
		l->tried = true;
	}
	if (!l->path || !at || !ctp_state_read(at, &st) || st.changes != l->changes ||
	    (!s->unwind && unwind_new(&s->unwind, s->pid)))
		return;
	size_t n = slice_path_take(l->path, s->unwind, &st);
	if (ctp_load64(&s->r->threads[l->slot].switches) != s->tracks[l->slot].switches)
		slice_path_drop(l->path, n);
	slice_path_common(l->path, &l->common);
}

static void drop(struct slice *l)
{
	if (l)
		slice_path_close(l->path);
	free(l);
}

// A thread that never ran a loop starves nobody.
static bool runs_loop(const struct slices *s, uint32_t slot)
{
	return s->tracks[slot].polls || (s->r->threads[slot].flags & CTP_THREAD_LOOPS);
}

// The symbols of a large program take a while to read.
static void name_lock(struct slices *s, struct slice_block *b)
{
	if (b->lock != s->lock)
		names_of(s->pid, b->lock, s->lock_name, sizeof(s->lock_name));
	s->lock = b->lock;
	memcpy(b->lock_name, s->lock_name, sizeof(b->lock_name));
}

// What there is to be said of it by now.
static void tell(struct slices *s, struct slice *l, uint64_t ns, bool over)
{
	uint64_t by_itself = l->cpu_ns + l->blocked_ns;
	bool blocked = l->block.kind && l->block.ns >= SLICE_BLOCKED_NS && (!l->block.polls || l->by_set);
	if (!l->asked || l->station == UINT32_MAX || l->others + l->served == 0 || !runs_loop(s, l->slot))
		return;
	if (blocked && l->block.lock)
		name_lock(s, &l->block);
	if (blocked)
		slice_sites_note(s->sites, l->block.kind == SLICE_LOCK ? RULE_LOCK : RULE_BLOCKING, l, ns,
				 over);
	else if (l->others && by_itself >= SLICE_LONG_NS && ns - l->began_ns >= SLICE_LONG_NS)
		slice_sites_note(s->sites, RULE_STARVED, l, ns, over);
	if (blocked && l->others && l->cpu_ns >= SLICE_LONG_NS)
		slice_sites_note(s->sites, RULE_STARVED, l, ns, over);
}

static struct slice *begin_slice(const struct track *k, uint32_t slot, int tid)
{
	struct slice *l = calloc(1, sizeof(*l));
	if (l)
		*l = (struct slice){.slot = slot,
				    .tid = tid,
				    .id = k->id,
				    .station = UINT32_MAX,
				    .began_ns = k->seen_ns,
				    .woke = k->waited == k->switches + 1};
	return l;
}

static void sample(struct slices *s, uint32_t slot, uint64_t now)
{
	const struct ctp_thread *th = &s->r->threads[slot];
	struct track *k = &s->tracks[slot];
	struct proc_task t;
	if (!proc_task_read(s->pid, (int)th->tid, true, &t) || ctp_load64(&th->switches) != k->switches)
		return;
	if (!k->slice && !(k->slice = begin_slice(k, slot, t.tid)))
		return;
	struct slice *l = k->slice;
	now = proc_now_ns();
	if (t.restarted && t.sp == l->call.sp)
		t.nr = l->call.nr; // it was stopped, and goes on
	if (l->samples++)
		account(l, &t, now);
	else if (t.state == 'S')
		l->call = t;
	l->last = t;
	l->sampled_ns = now;
	l->asked_ns = longer(l->asked_ns, asked_ns(s->pid, &t));
	uint64_t age = now - l->began_ns;
	uint64_t again = l->asleep_ns < SLICE_BLOCKED_NS && age < SOON_NS ? AGAIN_LEAST : age / 8;
	k->due_ns = now + (again < AGAIN_LEAST ? AGAIN_LEAST : again > AGAIN_MOST ? AGAIN_MOST : again);
	if (!blocks(l) && age < SLICE_LONG_NS / 4)
		return;
	if (!ask(s, l, now))
		return;
	if (blocks(l) && t.state == 'S')
		look_at_block(s, l, &t);
	look_at_path(s, l);
	tell(s, l, now, false);
}

// ------------------------------------------------------------- slices begin and end

static void end(struct slices *s, struct track *k)
{
	struct slice *l = k->slice;
	struct ctp_state st;
	k->slice = NULL;
	if (!l)
		return;
	uint64_t ended = l->sampled_ns;
	const struct ctp_state *at = state_of(s, l);
	if (at && ctp_state_read(at, &st) && st.id == l->id && st.changes == l->changes + 1) {
		uint64_t left = to_ns(s, st.since);
		ended = left > ended ? left : ended;
		l->left = st.stack;
	}
	uint64_t all = ended > l->began_ns ? ended - l->began_ns : 0;
	l->block.ns = longer(l->block.ns, l->block.asked_ns < all ? l->block.asked_ns : all);
	tell(s, l, ended, true);
	drop(l);
}

static void begin(struct track *k, uint64_t id, uint64_t switches, uint64_t now)
{
	k->id = id;
	k->switches = switches;
	k->seen_ns = now;
	k->due_ns = now + SAMPLE_AFTER_MS * MS;
}

// Does a poll of these descriptors wait for an epoll set, too? Then it is a loop's.
static bool polls_a_set(const struct slices *s, uint64_t addr, uint64_t bytes)
{
	struct pollfd p[64];
	size_t n = proc_peek(s->pid, addr, p, bytes < sizeof(p) ? bytes : sizeof(p), false) / sizeof(*p);
	for (size_t i = 0; i < n; i++) {
		struct ctp_fd f;
		if (p[i].fd >= 0 && inspect_fd(s->r, (uint64_t)p[i].fd, &f) && f.kind == CTP_FD_EPOLL)
			return true;
	}
	return false;
}

// Is it in a wait of its loop? A loop may run on any coroutine's stack; but one that polls
// something else than the loop does keeps the loop from it.
static bool in_loop(const struct slices *s, struct track *k, const struct ctp_thread *t, uint64_t current)
{
	uint64_t seq = ctp_load64(&t->wait_seq), buf = t->wait_buf, bytes = t->wait_buf_bytes;
	uint32_t call = t->wait_call;
	int32_t fd = t->wait_fd;
	bool native = !current || current == t->native;
	if (!(seq & 1) || (call != CTP_IN_EPOLL && call != CTP_IN_POLL && call != CTP_IN_SELECT) ||
	    !ctp_wait_still(t, seq))
		return false;
	k->polls = true;
	if (call == CTP_IN_EPOLL) {
		if (!k->set || native)
			k->set = fd + 1;
		return fd + 1 == k->set;
	}
	return native || !(t->flags & CTP_THREAD_LOOPS) ||
	       (call == CTP_IN_POLL && polls_a_set(s, buf, bytes));
}

static void look_at_thread(struct slices *s, uint32_t slot, uint64_t now)
{
	const struct ctp_thread *t = &s->r->threads[slot];
	struct track *k = &s->tracks[slot];
	uint64_t current = ctp_load64(&t->current), switches = ctp_load64(&t->switches);
	if (in_loop(s, k, t, current)) { // also on a coroutine's stack, whose slice begins anew
		end(s, k);
		begin(k, 0, switches, now);
		k->waited = switches + 1;
	} else if (!current || current == t->native) {
		end(s, k);
		begin(k, 0, switches, now);
	} else if (current != k->id || switches != k->switches) {
		end(s, k);
		begin(k, current, switches, now);
		if (s->late && runs_loop(s, slot))
			sample(s, slot, now);
	} else if (now >= k->due_ns && runs_loop(s, slot)) {
		sample(s, slot, now);
	}
}

bool slices_poll(struct slices *s, uint64_t now_ns)
{
	bool soon = false;
	const struct ctp_region *r = s->r;
	uint32_t high = ctp_load32(&r->ext->thread_high);
	bool ending = ctp_load64(&r->ext->exit_begun) != 0;
	s->late = s->polled_ns && now_ns - s->polled_ns > LATE_MS * MS;
	s->polled_ns = now_ns;
	high = high < r->threads_max ? high : r->threads_max;
	s->high = s->high < high ? high : s->high;
	for (uint32_t i = 0; i < high; i++) {
		struct track *k = &s->tracks[i];
		if (ctp_load32(&r->threads[i].life) == CTP_THREAD_LIVE && !ending) {
			look_at_thread(s, i, now_ns);
			soon |= k->slice && now_ns - k->slice->began_ns < SOON_NS;
		} else if (k->id || k->polls) {
			end(s, k);
			*k = (struct track){0};
		}
	}
	return soon;
}

void slices_final(struct slices *s)
{
	uint64_t now = proc_now_ns();
	slices_poll(s, now);
	for (uint32_t i = 0; i < s->high; i++) {
		struct slice *l = s->tracks[i].slice;
		if (l && (l->asked || ask(s, l, now)))
			tell(s, l, l->sampled_ns, false);
	}
	slice_sites_flush(s->sites);
}

void slices_free(struct slices *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->high; i++)
		drop(s->tracks[i].slice);
	slice_sites_free(s->sites);
	unwind_free(s->unwind);
	free(s);
}
