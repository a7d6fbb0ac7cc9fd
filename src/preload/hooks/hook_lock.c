// SPDX-License-Identifier: MIT
//
// Locks. These calls are hot: an uncontended lock costs a few loads, no guard and no clock. A
// slice keeps the few locks that it has locked and not unlocked; when the coroutine is
// suspended, the switch finds them (fds_suspend). A lock that is taken is waited for like any
// blocking call: the thread notes which call it is in. Nothing here reads a lock but the one
// that the caller has just passed.
#include "preload/hooks/hook.h"

#include <pthread.h>

#include "preload/coroutine/coroutine.h"
#include "preload/fds/held.h"

// Only of a coroutine is it asked (held_suspend): a loop may hold its lock while it runs others.
static inline bool by_coroutine(void)
{
	const struct thread_ctx *g = cpu_self();
	return g && g->current && g->current->entity == CTP_COROUTINE;
}

// A coroutine called for it.
static inline int kept(const void *lock, int r)
{
	struct thread_ctx *g = cpu_self();
	if (CTP_LIKELY((r == 0 || r == EOWNERDEAD) && g->nlocks < GUEST_LOCKS))
		g->locks[g->nlocks++] = lock;
	return r;
}

// It was not the last that was locked in this slice, or is held by who is suspended.
static __attribute__((noinline)) void unlocked_late(const void *lock)
{
	struct thread_ctx *g = cpu_self();
	for (unsigned i = g ? g->nlocks : 0; i-- > 0;)
		if (g->locks[i] == lock) {
			g->locks[i] = g->locks[--g->nlocks];
			return;
		}
	if (ctp_load32(&held_count) && ctp_tracer->attached) { // a forked child has no region to write to
		held_release(lock, g && g->current ? guest_who(g) : 0);
	}
}

// False: unlocked_late has to look.
static inline bool unlocked(const void *lock)
{
	struct thread_ctx *g = cpu_self();
	if (!g || CTP_LIKELY(!g->nlocks))
		return CTP_LIKELY(!held_count);
	if (g->locks[g->nlocks - 1] != lock)
		return false;
	g->nlocks--;
	return true;
}

// A lock that is waited for: what is remembered meanwhile.
struct lock_wait {
	struct held *held;
	uint64_t who;
};

HOOK_INLINE void lock_enter(struct lock_wait *w, const void *lock, uint64_t bytes)
{
	struct thread_ctx *g = hook_enter();
	*w = (struct lock_wait){0};
	if (!g)
		return;
	wait_block(g, CTP_BLOCK_LOCK, lock, bytes);
	if (ctp_load32(&held_count))
		w->held = held_find(lock, &w->who);
	wait_begin(g);
}

static void lock_leave(const struct lock_wait *w)
{
	struct thread_ctx *g = hook_enter();
	if (!g)
		return;
	wait_leave(g);
	if (w->held)
		held_waited(w->held, w->who);
	wait_end(g);
}

// Will it have to wait? Only a look: what it says may be over by now. A recursive one that is
// the thread's own is had again; any other never. A thread may be new to us.
static inline bool mutex_taken(const pthread_mutex_t *m)
{
	const struct thread_ctx *g;
	return CTP_UNLIKELY(ctp_load32((const uint32_t *)&m->__data.__lock)) && wait_is_noted() &&
	       ((m->__data.__kind & 3) != PTHREAD_MUTEX_RECURSIVE_NP || !(g = cpu_self()) ||
		(uint32_t)m->__data.__owner != g->tid);
}

static inline bool rwlock_taken(const pthread_rwlock_t *l)
{
	return CTP_UNLIKELY(l->__data.__readers || l->__data.__cur_writer) && wait_is_noted();
}

// A lock that must be waited for, or that a coroutine takes, is so in a function of its own, which
// the hook jumps to: the caller's registers are as they were, and the usual way needs no frame.
#define LOCK_HOOK(name, taken, l, params, args) \
	static __attribute__((noinline)) int name##_waits params \
	{ \
		struct lock_wait w; \
		lock_enter(&w, l, sizeof(*(l))); \
		int r = real_##name args; \
		lock_leave(&w); \
		return by_coroutine() ? kept(l, r) : r; \
	} \
	static __attribute__((noinline)) int name##_kept params \
	{ \
		return kept(l, real_##name args); \
	} \
	CTP_HOOK int name params \
	{ \
		if (CTP_UNLIKELY(taken(l))) \
			return name##_waits args; \
		return by_coroutine() ? name##_kept args : real_##name args; \
	}

LOCK_HOOK(pthread_mutex_lock, mutex_taken, m, (pthread_mutex_t * m), (m))
LOCK_HOOK(pthread_mutex_timedlock, mutex_taken, m,
	  (pthread_mutex_t *restrict m, const struct timespec *restrict until), (m, until))
LOCK_HOOK(pthread_mutex_clocklock, mutex_taken, m,
	  (pthread_mutex_t *restrict m, clockid_t clock, const struct timespec *restrict until),
	  (m, clock, until))
LOCK_HOOK(pthread_rwlock_wrlock, rwlock_taken, l, (pthread_rwlock_t * l), (l))

CTP_HOOK int pthread_mutex_trylock(pthread_mutex_t *m)
{
	return by_coroutine() ? kept(m, real_pthread_mutex_trylock(m)) : real_pthread_mutex_trylock(m);
}

#define UNLOCK_HOOK(name, params, args) \
	static __attribute__((noinline)) int name##_late params \
	{ \
		unlocked_late args; \
		return real_##name args; \
	} \
	CTP_HOOK int name params \
	{ \
		return unlocked args ? real_##name args : name##_late args; \
	}

UNLOCK_HOOK(pthread_mutex_unlock, (pthread_mutex_t * m), (m))
UNLOCK_HOOK(pthread_rwlock_unlock, (pthread_rwlock_t * l), (l))

CTP_HOOK int pthread_rwlock_trywrlock(pthread_rwlock_t *l)
{
	return by_coroutine() ? kept(l, real_pthread_rwlock_trywrlock(l)) : real_pthread_rwlock_trywrlock(l);
}

// Readers do not keep each other out: only their waiting is of interest.
static __attribute__((noinline)) int rdlock_waits(pthread_rwlock_t *l)
{
	struct lock_wait w;
	lock_enter(&w, l, sizeof(*l));
	int r = real_pthread_rwlock_rdlock(l);
	lock_leave(&w);
	return r;
}

CTP_HOOK int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
	if (CTP_LIKELY(!l->__data.__cur_writer || !wait_is_noted()))
		return real_pthread_rwlock_rdlock(l);
	return rdlock_waits(l);
}
