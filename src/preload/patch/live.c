// SPDX-License-Identifier: MIT
//
// The entry is one instruction of five bytes, which lies in an aligned word, replaced by a jump of five bytes
// in one store: a thread that comes to it runs the one or the other, and nowhere can a thread, or a saved
// context, stand between their bytes. A jump of that length reaches two gigabytes, so it leads to a stub in
// memory near the object, and that to the instance.
//
// The store needs the page to be writable for a moment; through /proc/self/mem the kernel copies byte by
// byte. Where that is refused (SELinux, PR_SET_MDWE), nothing is patched.
#include "preload/patch/live.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "cpu.h"
#include "entry.h"
#include "preload/guest/guest.h"
#include "preload/patch/patch.h"

enum { PAGE = 4096, STEP = 64 << 10, REACH = 1 << 30 };

// Where the stubs of the object are that was patched last.
static uint8_t *stubs;
static size_t stubs_used;

bool live_can(const uint8_t *at)
{
	return cpu_live_entry((uint8_t *)at) != NULL;
}

// A page below the object: above it a heap may grow.
static uint8_t *page_near(uint64_t lo)
{
	for (uint64_t off = STEP; off < REACH && off + STEP < lo; off += STEP) {
		uint64_t want = (lo - off) & ~(uint64_t)(PAGE - 1);
		long got = cpu_syscall(SYS_mmap, (long)want, PAGE, PROT_READ | PROT_EXEC,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (got == (long)want)
			return (uint8_t *)want;
		if (got > 0) // a kernel that takes it for a hint
			cpu_syscall(SYS_munmap, got, PAGE, 0, 0, 0, 0);
		else if (got != -EEXIST)
			break;
	}
	return NULL;
}

static bool is_near(const uint8_t *at, const uint8_t *stub)
{
	return (at > stub ? at - stub : stub - at) < REACH;
}

// Where a call goes on to `s`; NULL: there is no room near `at`.
static uint8_t *stub_of(const struct object *o, const uint8_t *at, const struct switcher *s)
{
	uint8_t entry[SWITCHER_ENTRY_BYTES];
	if (!stubs || !is_near(at, stubs) || stubs_used + sizeof(entry) > PAGE) {
		stubs = page_near(o->start);
		stubs_used = 0;
	}
	cpu_entry(entry, s);
	if (!stubs || patch_write(stubs + stubs_used, entry, sizeof(entry)))
		return NULL;
	stubs_used += sizeof(entry);
	return stubs + stubs_used - sizeof(entry);
}

static int store(uint64_t *word, uint64_t was, uint64_t now)
{
	uint64_t page = (uint64_t)word & ~(uint64_t)(PAGE - 1);
	long r = cpu_syscall(SYS_mprotect, (long)page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, 0, 0, 0);
	if (r)
		return (int)r;
	bool stored = ctp_cas64(word, was, now);
	cpu_syscall(SYS_mprotect, (long)page, PAGE, PROT_READ | PROT_EXEC, 0, 0, 0);
	return stored ? 0 : -EBUSY;
}

// A program that writes its own code: its pages are not made read-only. (Before Linux 5.14: not known.)
static bool is_writable(const uint8_t *at)
{
	long page = (long)((uint64_t)at & ~(uint64_t)(PAGE - 1));
	return cpu_syscall(SYS_madvise, page, PAGE, MADV_POPULATE_WRITE, 0, 0, 0) == 0;
}

int live_patch(struct live *l, const struct object *o, uint8_t *at, const struct switcher *s)
{
	uint8_t *entry = cpu_live_entry(at), *stub = NULL;
	*l = (struct live){.word = NULL};
	if (entry && !is_writable(entry))
		stub = stub_of(o, entry, s);
	uint64_t now = stub ? cpu_live_word(entry, stub) : 0;
	if (!now)
		return -ENOMEM;
	uint64_t *word = (uint64_t *)((uint64_t)entry & ~7ULL), was = ctp_load64(word);
	int r = store(word, was, now);
	if (!r)
		*l = (struct live){word, was, now};
	return r;
}

int live_undo(const struct live *l)
{
	return store(l->word, l->now, l->was);
}

int live_redo(const struct live *l)
{
	return store(l->word, l->was, l->now);
}

long live_fetch_anew(void)
{
	cpu_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0, 0, 0, 0);
	return cpu_syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0, 0, 0, 0);
}
