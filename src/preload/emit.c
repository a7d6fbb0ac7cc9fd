// SPDX-License-Identifier: MIT
//
// Records into the thread's ring, and the engine's wake-up. No system call
// unless the ring has passed half full while the engine says that it sleeps;
// no fence: a wake-up that is missed costs one turn of the engine's poll. With
// --overflow=block a full ring makes the thread wait, but never for an engine
// that is gone, nor long for one whose heartbeat stands still.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>

#include "cpu.h"
#include "emit.h"
#include "v1.h"

static int (*libc_clock)(clockid_t, struct timespec *) = clock_gettime;

// Somebody else's clock_gettime may watch what it writes to (sanitizers), or lie.
void emit_init(void)
{
	Dl_info first, libc;
	if (!dladdr(dlsym(RTLD_DEFAULT, "clock_gettime"), &first) || !dladdr((void *)getauxval, &libc) ||
	    first.dli_fbase == libc.dli_fbase)
		return;
	void *handle = dlopen(libc.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
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
	return CTP_LIKELY(ctp_tracer->tsc) ? cpu_ticks() : guest_mono_ns();
}

void emit_wake(void)
{
	struct ctp_ext *e = ctp_tracer->region.ext;
	if (ctp_tracer->v1)
		return;
	ctp_add32(&e->wake, 1);
	cpu_syscall(SYS_futex, (long)&e->wake, FUTEX_WAKE, 1, 0, 0, 0);
}

// Whether the engine's process is still there, and no zombie.
static bool engine_lives(void)
{
	char path[32] = "/proc/", text[64], digits[12], *p = path + 6;
	uint32_t pid = ctp_load32(&ctp_tracer->region.ext->engine_pid);
	int n = 0;
	do
		digits[n++] = (char)('0' + pid % 10);
	while (pid /= 10);
	while (n)
		*p++ = digits[--n];
	memcpy(p, "/stat", 6);
	long fd = cpu_syscall(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	long got = fd < 0 ? -1 : cpu_syscall(SYS_read, fd, (long)text, sizeof(text), 0, 0, 0);
	if (fd >= 0)
		cpu_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
	for (; got > 0; got--) // PID (NAME) STATE; at most 16 characters are the name
		if (text[got - 1] == ')')
			return got + 1 < (long)sizeof(text) && text[got + 1] != 'Z' && text[got + 1] != 'X';
	return false;
}

// Waits for room; NULL if the engine is gone.
static struct ctp_record *wait_room(struct guest *g)
{
	struct ctp_ext *e = ctp_tracer->region.ext;
	struct timespec nap = {0, 100000};
	uint64_t beat = ctp_load64(&e->heartbeat);
	for (int naps = 0, stalls = 0; stalls < 30; naps++) {
		if (naps == 10000) { // a second: is it only starved?
			if (!engine_lives())
				return NULL;
			stalls++;
			naps = 0;
		}
		emit_wake();
		cpu_syscall(SYS_nanosleep, (long)&nap, 0, 0, 0, 0, 0);
		struct ctp_record *r = ctp_ring_next(g->thread, g->ring, g->ring_capacity,
						     ctp_ring_head(g->thread));
		if (r)
			return r;
		if (ctp_load64(&e->heartbeat) != beat) {
			beat = ctp_load64(&e->heartbeat);
			naps = stalls = 0;
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
