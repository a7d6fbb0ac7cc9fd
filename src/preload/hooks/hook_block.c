// SPDX-License-Identifier: MIT
//
// Calls that block the thread, whatever a coroutine on it meant to do: sleeps, waits for
// children and threads, name look-ups. All are alike: the thread notes which call it is in
// (ctp.h, enum ctp_block) and its caller's registers, so that the engine can tell what delays
// a loop, and where. They may be cancelled, or left by longjmp: then the next wait is a new
// one.
#include "preload/hooks/hook.h"

#include <netdb.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "preload/coroutine/coroutine.h"
#include "preload/guest/events.h"

HOOK_INLINE void block_enter(enum ctp_block what, const void *on)
{
	struct thread_ctx *g = wait_is_noted() ? hook_enter() : NULL;
	if (!g)
		return;
	wait_block(g, what, on, 0);
	wait_begin(g);
}

static void block_leave(void)
{
	struct thread_ctx *g = wait_is_noted() ? hook_enter() : NULL;
	if (!g)
		return;
	wait_end(g);
}

#define BLOCK_HOOK(type, name, what, on, params, args) \
	CTP_HOOK type name params \
	{ \
		block_enter((what), (on)); \
		type r = real_##name args; \
		block_leave(); \
		return r; \
	}

BLOCK_HOOK(int, nanosleep, CTP_BLOCK_SLEEP, NULL, (const struct timespec *t, struct timespec *left),
	   (t, left))
BLOCK_HOOK(int, clock_nanosleep, CTP_BLOCK_SLEEP, NULL,
	   (clockid_t clock, int flags, const struct timespec *t, struct timespec *left),
	   (clock, flags, t, left))

// As BLOCK_HOOK. `slept`: it was long enough that nobody holds a lock of an allocator, or its like, in it.
#define SLEEP_HOOK(type, name, params, args, slept) \
	CTP_HOOK type name params \
	{ \
		block_enter(CTP_BLOCK_SLEEP, NULL); \
		type r = real_##name args; \
		block_leave(); \
		if (slept) \
			events_look(); \
		return r; \
	}

SLEEP_HOOK(int, usleep, (useconds_t us), (us), us >= 10000)
SLEEP_HOOK(unsigned, sleep, (unsigned s), (s), s > 0)

BLOCK_HOOK(pid_t, wait, CTP_BLOCK_CHILD, NULL, (int *status), (status))
BLOCK_HOOK(pid_t, waitpid, CTP_BLOCK_CHILD, NULL, (pid_t pid, int *status, int options),
	   (pid, status, options))
BLOCK_HOOK(pid_t, wait4, CTP_BLOCK_CHILD, NULL, (pid_t pid, int *status, int options, struct rusage *usage),
	   (pid, status, options, usage))
BLOCK_HOOK(int, waitid, CTP_BLOCK_CHILD, NULL, (idtype_t type, id_t id, siginfo_t *info, int options),
	   (type, id, info, options))

BLOCK_HOOK(int, flock, CTP_BLOCK_FILE, NULL, (int fd, int operation), (fd, operation))
BLOCK_HOOK(int, getaddrinfo, CTP_BLOCK_NAME, NULL,
	   (const char *restrict node, const char *restrict service, const struct addrinfo *restrict hints,
	    struct addrinfo **restrict out),
	   (node, service, hints, out))

// Also where no coroutine is yet: main may join its threads before they make one.
CTP_HOOK int pthread_join(pthread_t t, void **value)
{
	struct thread_ctx *g = hook_enter();
	if (g) {
		wait_block(g, CTP_BLOCK_JOIN, (void *)t, 0);
		wait_begin(g);
	}
	int r = real_pthread_join(t, value);
	g = hook_enter();
	if (g)
		wait_end(g);
	return r;
}

BLOCK_HOOK(int, pthread_cond_wait, CTP_BLOCK_COND, c,
	   (pthread_cond_t *restrict c, pthread_mutex_t *restrict m), (c, m))
BLOCK_HOOK(int, pthread_cond_timedwait, CTP_BLOCK_COND, c,
	   (pthread_cond_t *restrict c, pthread_mutex_t *restrict m, const struct timespec *restrict until),
	   (c, m, until))
BLOCK_HOOK(int, pthread_cond_clockwait, CTP_BLOCK_COND, c,
	   (pthread_cond_t *restrict c, pthread_mutex_t *restrict m, clockid_t clock,
	    const struct timespec *restrict until),
	   (c, m, clock, until))

// What can be had at once is had without a word.
static inline bool sem_is_free(const sem_t *s)
{
	return ctp_load32((const uint32_t *)s) != 0;
}

CTP_HOOK int sem_wait(sem_t *s)
{
	if (CTP_LIKELY(sem_is_free(s)))
		return real_sem_wait(s);
	block_enter(CTP_BLOCK_SEM, s);
	int r = real_sem_wait(s);
	block_leave();
	return r;
}

BLOCK_HOOK(int, sem_timedwait, CTP_BLOCK_SEM, s, (sem_t *restrict s, const struct timespec *restrict until),
	   (s, until))
BLOCK_HOOK(int, sem_clockwait, CTP_BLOCK_SEM, s,
	   (sem_t *restrict s, clockid_t clock, const struct timespec *restrict until), (s, clock, until))
