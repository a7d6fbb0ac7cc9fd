// SPDX-License-Identifier: MIT
//
// mlockall(MCL_CURRENT) allocates every page of every mapping, and ours are gigabytes of
// address space of which little is ever used. So everything is locked on fault, which
// allocates nothing, and then each mapping of the program's own is locked as the program
// asked. Ours stay as they are.
#include <fcntl.h>
#include <sys/mman.h>
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

// Each line of /proc/self/maps begins `lo-hi `. What cannot be locked was not locked by the kernel either.
static void lock_each(int maps)
{
	enum { LO, HI, REST } part = LO;
	uint64_t lo = 0, hi = 0;
	char text[256];
	long n;
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
				if (hi > lo && !is_ours(lo))
					cpu_syscall(SYS_mlock, (long)lo, (long)(hi - lo), 0, 0, 0, 0);
			} else if (part != REST && digit(c) >= 0) {
				uint64_t *at = part == LO ? &lo : &hi;
				*at = *at << 4 | (uint64_t)digit(c);
			}
		}
}

CTP_HOOK int mlockall(int flags)
{
	long maps = -1;
	if (ctp_tracer->attached && !exit_silent() && (flags & MCL_CURRENT) && !(flags & MCL_ONFAULT))
		maps = cpu_syscall(SYS_openat, AT_FDCWD, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC, 0, 0,
				   0);
	int r = real_mlockall(maps < 0 ? flags : flags | MCL_ONFAULT);
	if (maps < 0)
		return r;
	if (!r) {
		lock_each((int)maps);
		if (flags & MCL_FUTURE)
			cpu_syscall(SYS_mlockall, MCL_FUTURE, 0, 0, 0, 0, 0);
	}
	cpu_syscall(SYS_close, maps, 0, 0, 0, 0, 0);
	return r;
}
