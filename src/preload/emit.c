// SPDX-License-Identifier: MIT
//
// Records into the thread's ring, and the engine's wake-up. No system call
// unless the ring has passed half full while the engine says that it sleeps;
// no fence: a wake-up that is missed costs one turn of the engine's poll. With
// --overflow=block a full ring makes the thread wait, but never for an engine
// whose heartbeat has stood still for a second.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include "cpu.h"
#include "emit.h"
#include "v1.h"

uint64_t guest_now(void)
{
	if (CTP_LIKELY(ctp_tracer->tsc))
		return cpu_ticks();
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void emit_wake(void)
{
	struct ctp_ext *e = ctp_tracer->region.ext;
	if (ctp_tracer->v1)
		return;
	ctp_add32(&e->wake, 1);
	cpu_syscall(SYS_futex, (long)&e->wake, FUTEX_WAKE, 1, 0, 0, 0);
}

// Waits for room; NULL if the engine is gone.
static struct ctp_record *wait_room(struct guest *g)
{
	struct ctp_ext *e = ctp_tracer->region.ext;
	struct timespec nap = {0, 100000};
	uint64_t beat = ctp_load64(&e->heartbeat);
	for (int naps = 0; naps < 10000; naps++) {
		emit_wake();
		cpu_syscall(SYS_nanosleep, (long)&nap, 0, 0, 0, 0, 0);
		struct ctp_record *r = ctp_ring_next(g->thread, g->ring, g->ring_capacity);
		if (r)
			return r;
		if (ctp_load64(&e->heartbeat) != beat) {
			beat = ctp_load64(&e->heartbeat);
			naps = 0;
		}
	}
	return NULL;
}

struct ctp_record *emit_full(struct guest *g)
{
	struct ctp_record *r = NULL;
	if (ctp_tracer->block) {
		r = wait_room(g);
		if (!r)
			ctp_tracer->block = false;
	}
	if (!r)
		ctp_ring_drop(g->thread);
	return r;
}

void emit_half(void)
{
	if (ctp_load32(&ctp_tracer->region.ext->waiting))
		emit_wake();
}

void emit(struct guest *g, uint64_t w1, uint64_t w2, uint64_t w3)
{
	if (!ctp_tracer->v1)
		emit_at(g, guest_now(), w1, w2, w3);
}
