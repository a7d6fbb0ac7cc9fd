// SPDX-License-Identifier: MIT
//
// Writes records to the thread's ring, and wakes the engine. A switch usually takes one slot
// (emit.h); the records here take two. There is no system call unless the ring has passed half
// full while the engine says that it sleeps, and no fence: a missed wake-up costs one period
// of the engine's poll. With --overflow=block a full ring makes the thread wait, but never for
// an engine that has died, nor long for one whose heartbeat has stopped.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>

#include "cpu.h"
#include "ctp/chunk.h"
#include "preload/guest/emit.h"
#include "preload/guest/exit.h"
#include "preload/guest/v1.h"

static int (*libc_clock)(clockid_t, struct timespec *) = clock_gettime;

// Somebody else's clock_gettime may watch what it writes to (sanitizers), or lie.
void emit_init(void)
{
	struct dl_find_object first, libc; // dladdr would go through all of libc's symbols
	if (_dl_find_object(dlsym(RTLD_DEFAULT, "clock_gettime"), &first) ||
	    _dl_find_object((void *)getauxval, &libc) || first.dlfo_link_map == libc.dlfo_link_map)
		return;
	void *handle = dlopen(libc.dlfo_link_map->l_name, RTLD_LAZY | RTLD_NOLOAD);
	void *own = handle ? dlsym(handle, "clock_gettime") : NULL;
	if (own)
		libc_clock = own;
}

uint64_t guest_mono_ns(void)
{
	struct timespec ts;
	libc_clock(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint64_t guest_now(void)
{
	return CTP_TIME_READ(CTP_LIKELY(ctp_tracer->tsc) ? cpu_ticks() : guest_mono_ns());
}

void emit_wake(void)
{
	struct ctp_ext *e = ctp_tracer->region.ext;
	if (ctp_tracer->v1)
		return;
	ctp_add32(&e->wake, 1);
	guest_syscall(SYS_futex, (long)&e->wake, FUTEX_WAKE, 1, 0, 0, 0);
}

bool emit_lives(uint32_t pid)
{
	char path[32] = "/proc/", text[64], digits[12], *p = path + 6;
	int n = 0;
	do
		digits[n++] = (char)('0' + pid % 10);
	while (pid /= 10);
	while (n)
		*p++ = digits[--n];
	memcpy(p, "/stat", 6);
	long fd = guest_syscall(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	long got = fd < 0 ? -1 : guest_syscall(SYS_read, fd, (long)text, sizeof(text), 0, 0, 0);
	if (fd >= 0)
		guest_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
	for (; got > 0; got--) // PID (NAME) STATE; at most 16 characters are the name
		if (text[got - 1] == ')')
			return got + 1 < (long)sizeof(text) && text[got + 1] != 'Z' && text[got + 1] != 'X';
	return false;
}

void emit_unsure(struct thread_ctx *g, uint32_t thread)
{
	if (thread < ctp_tracer->region.threads_max)
		ctp_ring_unsure(&ctp_tracer->region.threads[thread], CTP_NEAR_UNSURE);
	ctp_ring_unsure(g->thread, CTP_NEAR_TWICE);
}

// By another look at the tail. The engine is woken where it is late, once a sleep: until it runs, every
// record may come here.
static bool look(struct thread_ctx *g, uint64_t head, unsigned slots)
{
	enum ctp_ring_room room = ctp_ring_look(g->thread, g->ring_capacity, head, slots);
	uint32_t *waiting = &ctp_tracer->region.ext->waiting;
	if (g->thread->until > head + CLOCK_RATE_SLOTS && ctp_tracer->adaptive)
		g->thread->until = head + CLOCK_RATE_SLOTS;
	if (room != CTP_RING_ROOM && ctp_load32(waiting) && ctp_cas32(waiting, 1, 0))
		emit_wake();
	return room != CTP_RING_FULL;
}

enum { DETACHED_NAPS = 400 }; // less than thread_release_all waits

bool emit_wait(bool (*is_there)(void *arg), void *arg)
{
	struct ctp_ext *e = ctp_tracer->region.ext;
	struct timespec nap = {0, 100000};
	uint64_t beat = ctp_load64(&e->heartbeat);
	for (int naps = 0, stalls = 0, detached = 0;
	     stalls < 30 && !exit_silent() && detached < DETACHED_NAPS; naps++) {
		detached += !ctp_load32(&ctp_tracer->attached); // the engine reads until it has been detached
		if (naps % 2000 == 1999 && !emit_lives(ctp_load32(&e->engine_pid)))
			return false;
		if (naps == 10000) { // a second: it is starved
			stalls++;
			naps = 0;
		}
		emit_wake();
		guest_syscall(SYS_nanosleep, (long)&nap, 0, 0, 0, 0, 0);
		if (is_there(arg))
			return true;
		if (ctp_load64(&e->heartbeat) != beat) {
			beat = ctp_load64(&e->heartbeat);
			naps = stalls = 0;
		}
	}
	return false;
}

struct room {
	struct thread_ctx *g;
	uint64_t head;
	unsigned slots;
};

static bool is_room(void *arg)
{
	const struct room *r = arg;
	return look(r->g, r->head, r->slots);
}

void emit_end(struct thread_ctx *g)
{
	if (g->chunk)
		ctp_chunk_end(g->chunk, ctp_ring_head(g->thread) - g->chunk_first, g->thread->lost);
	g->chunk = NULL;
}

// --flight: goes on in another chunk, from a number that is a chunk's first. A reader of that one
// alone does not know which coroutine is outgoing next.
static bool next_chunk(struct thread_ctx *g, uint64_t now)
{
	const struct ctp_region *r = &ctp_tracer->region;
	struct ctp_thread *t = g->thread;
	uint32_t at;
	uint64_t first = (ctp_ring_head(t) + CTP_CHUNK_SLOTS - 1) & ~(uint64_t)(CTP_CHUNK_SLOTS - 1);
	struct ctp_chunk is = {.first = first,
			       .thread = g->slot,
			       .use = t->uses,
			       .tid = g->tid,
			       .native = t->native,
			       .time = now};
	emit_end(g);
	g->chunk = ctp_chunk_take(r, &is, &at);
	if (!g->chunk)
		return false;
	g->chunk_first = first;
	g->ring = (void *)((uint64_t)ctp_chunk_slots(r, at) -
			   (first & (g->ring_capacity - 1)) * sizeof(*g->ring));
	t->until = first + CTP_CHUNK_SLOTS;
	if (t->near <= CTP_ID_MASK)
		ctp_ring_unsure(t, CTP_NEAR_UNSURE);
	ctp_ring_publish(t, first);
	return true;
}

// The ring is as far as is known full. If it really is, the record is lost, and a reader does
// not know which coroutine is outgoing next.
static __attribute__((noinline)) bool make_room(struct thread_ctx *g, unsigned slots, uint64_t now)
{
	uint64_t head = ctp_ring_head(g->thread);
	clock_rate(g, now);
	if (ctp_tracer->flight ? next_chunk(g, now) : look(g, head, slots))
		return true;
	if (ctp_tracer->block && !ctp_tracer->flight) {
		if (emit_wait(is_room, &(struct room){g, head, slots}))
			return true;
		ctp_tracer->block = exit_silent(); // no room came, or it may not wait now
	}
	ctp_ring_drop(g->thread);
	ctp_ring_unsure(g->thread, CTP_NEAR_UNSURE);
	return false;
}

// Where a record of so many slots, made `now`, begins is known only after this.
static inline bool has_room(struct thread_ctx *g, unsigned slots, uint64_t now)
{
	return CTP_LIKELY(ctp_ring_fits(g->thread, ctp_ring_head(g->thread), slots)) ||
	       make_room(g, slots, now);
}

bool emit_has_room(struct thread_ctx *g, unsigned slots, uint64_t now)
{
	return has_room(g, slots, now);
}

static inline __attribute__((always_inline)) void put(struct thread_ctx *g, uint64_t now, uint64_t w1,
						      uint64_t w2, uint64_t w3)
{
	uint64_t head = ctp_ring_head(g->thread);
	struct ctp_record *first = ctp_ring_slot(g->ring, g->ring_capacity, head);
	ctp_record_set(first, ctp_ring_slot(g->ring, g->ring_capacity, head + 1), now, w1, w2, w3);
	ctp_ring_publish(g->thread, head + 2);
}

// From where ids count after a switch to `to` in two slots. They rise: an older one stays alone.
static uint64_t near_after(uint64_t near, uint64_t to)
{
	if (near == CTP_NEAR_TWICE)
		return CTP_NEAR_UNSURE;
	return near == CTP_NEAR_UNSURE || to > near ? ctp_near(to) : near;
}

void emit_switch_slow(struct thread_ctx *g, const struct emit_switch *s)
{
	struct ctp_thread *t = g->thread;
	if (!has_room(g, 1, s->now)) // first: more may have to be recorded afterwards
		return;
	uint64_t near = t->near, to = s->to - near;
	bool sure = near <= CTP_ID_MASK && (s->to_n & CTP_TOLD_MASK) != CTP_TOLD;
	if (sure && (to < CTP_SHORT_NATIVE || s->to == t->native)) {
		struct emit_place p = {ctp_ring_head(t), to < CTP_SHORT_NATIVE ? to : CTP_SHORT_NATIVE};
		emit_put(g, &p, s->now, s->how, s->stack, s->to_n);
		ctp_ring_publish(t, p.head + 1);
		return;
	}
	if (!has_room(g, 2, s->now))
		return;
	near = t->near;
	uint64_t after = near_after(near, s->to), mark = after == ctp_near(s->to) ? CTP_MARK_NEAR : 0;
	put(g, s->now, ctp_w1(CTP_EV_SWITCH, s->how, s->from) | mark << 56, ctp_w2(s->to, s->stack),
	    (uint32_t)s->from_n | s->to_n << 32);
	t->near = after;
}

static inline __attribute__((always_inline)) void append(struct thread_ctx *g, uint64_t now, uint64_t w1,
							 uint64_t w2, uint64_t w3)
{
	if (!ctp_tracer->v1 && has_room(g, 2, now))
		put(g, now, w1, w2, w3);
}

void emit_at(struct thread_ctx *g, uint64_t now, uint64_t w1, uint64_t w2, uint64_t w3)
{
	append(g, now, w1, w2, w3);
}

void emit(struct thread_ctx *g, uint64_t w1, uint64_t w2, uint64_t w3)
{
	append(g, guest_now(), w1, w2, w3);
}
