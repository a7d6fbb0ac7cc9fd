// SPDX-License-Identifier: MIT
//
// mlockall(MCL_CURRENT) allocates every page of every mapping, and ours are gigabytes of
// address space of which little is ever used. So everything is first locked on fault, which
// allocates nothing; then each mapping of the program's own is locked as the program asked,
// and ours are unlocked. Without privileges the kernel refuses to lock more address space than
// RLIMIT_MEMLOCK. If only our mappings exceed the limit, the program's alone are locked.
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "preload/coroutine/crash.h"
#include "preload/guest/exit.h"
#include "preload/hooks/hook.h"

static bool within(uint64_t at, uint64_t base, uint64_t bytes)
{
	return base && at >= base && at - base < bytes;
}

static bool is_ours(uint64_t lo)
{
	const struct ctp_ext *e = ctp_tracer->region.ext;
	return within(lo, e->region_base, e->region_bytes) || within(lo, e->areas_base, e->areas_bytes) ||
	       within(lo, (uint64_t)ctp_tracer->region.header, e->region_bytes) || crash_stack_is_ours(lo);
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Each line of /proc/self/maps begins `lo-hi `.
static void each_mapping(int maps, bool ours, void (*each)(void *arg, uint64_t lo, uint64_t hi), void *arg)
{
	enum { LO, HI, REST } part = LO;
	uint64_t lo = 0, hi = 0;
	char text[256];
	long n;
	cpu_syscall(SYS_lseek, maps, 0, SEEK_SET, 0, 0, 0);
	while ((n = cpu_syscall(SYS_read, maps, (long)text, sizeof(text), 0, 0, 0)) > 0)
		for (long i = 0; i < n; i++) {
			char c = text[i];
			if (c == '\n') {
				lo = hi = 0;
				part = LO;
			} else if (part == LO && c == '-') {
				part = HI;
			} else if (part == HI && c == ' ') {
				part = REST;
				if (hi > lo && is_ours(lo) == ours)
					each(arg, lo, hi);
			} else if (part != REST && digit(c) >= 0) {
				uint64_t *at = part == LO ? &lo : &hi;
				*at = *at << 4 | (uint64_t)digit(c);
			}
		}
}

// What cannot be locked was not locked by the kernel either.
static void lock(void *flags, uint64_t lo, uint64_t hi)
{
	cpu_syscall(SYS_mlock2, (long)lo, (long)(hi - lo), *(const int *)flags, 0, 0, 0);
}

static void unlock(void *arg, uint64_t lo, uint64_t hi)
{
	(void)arg;
	cpu_syscall(SYS_munlock, (long)lo, (long)(hi - lo), 0, 0, 0, 0);
}

static void add(void *sum, uint64_t lo, uint64_t hi)
{
	*(uint64_t *)sum += hi - lo;
}

static bool fits(int maps)
{
	struct rlimit limit = {0, 0};
	uint64_t own = 0;
	cpu_syscall(SYS_prlimit64, 0, RLIMIT_MEMLOCK, 0, (long)&limit, 0, 0);
	each_mapping(maps, false, add, &own);
	return own <= limit.rlim_cur;
}

// Without MCL_CURRENT the kernel asks for no limit; without both flags nothing is locked from here on.
static bool begin_without_ours(int flags)
{
	return !(flags & MCL_FUTURE ? cpu_syscall(SYS_mlockall, flags & ~MCL_CURRENT, 0, 0, 0, 0, 0) :
				      cpu_syscall(SYS_munlockall, 0, 0, 0, 0, 0, 0));
}

static int lock_all(int maps, int flags)
{
	int before = errno, how = flags & MCL_ONFAULT ? MLOCK_ONFAULT : 0;
	int r = real_mlockall(flags | MCL_ONFAULT);
	bool without = r && errno == ENOMEM && fits(maps) && begin_without_ours(flags);
	if (r && !without)
		return r;
	if (!without)
		each_mapping(maps, true, unlock, NULL);
	if (without || !how)
		each_mapping(maps, false, lock, &how);
	if (!without && !how && (flags & MCL_FUTURE))
		cpu_syscall(SYS_mlockall, MCL_FUTURE, 0, 0, 0, 0, 0);
	errno = before;
	return 0;
}

CTP_HOOK int mlockall(int flags)
{
	long maps = -1;
	if (ctp_tracer->attached && !exit_silent() && (flags & MCL_CURRENT))
		maps = cpu_syscall(SYS_openat, AT_FDCWD, (long)"/proc/thread-self/maps", O_RDONLY | O_CLOEXEC,
				   0, 0, 0);
	if (maps < 0)
		return real_mlockall(flags);
	int r = lock_all((int)maps, flags);
	cpu_syscall(SYS_close, maps, 0, 0, 0, 0, 0);
	return r;
}
