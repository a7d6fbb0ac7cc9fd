// SPDX-License-Identifier: MIT
//
// A thread, or a context that a signal's handler left, may stand at any instruction, and may not stand in the
// middle of one afterwards. So one store writes either
//
// - a whole instruction of five bytes, which lies in an aligned word: the jump leads to a page nearby; or
// - the first byte of the function alone, which becomes that of a jump. The four bytes behind it stay as they
//   are: code to whoever stands there, and the jump's distance to whoever comes. It leads to one place, up to
//   two gigabytes away; if something is mapped there already, the function is left alone.
//
// There a stub lies, which leads to the instance. A store of the byte takes it back: nobody stands inside.
//
// The store needs the page to be writable for a moment; through /proc/self/mem the kernel copies byte by
// byte. Where that is refused (SELinux, PR_SET_MDWE), nothing is patched.
#include "preload/patch/live.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "cpu.h"
#include "entry.h"
#include "preload/guest/guest.h"
#include "preload/guest/page.h"
#include "preload/patch/patch.h"

enum { PAGE = 4096, STEP = 64 << 10, REACH = 1 << 30, LED_MOST = 64, HEAP_ROOM = 16 << 20 };
#define STACK_LEAST (128ULL << 20)
#define STACK_MOST (1ULL << 40) // of a stack without a limit

// Where the stubs of the object are that was patched last.
static uint8_t *stubs;
static size_t stubs_used;
// Pages at the one place that a jump leads to.
static uint64_t led[LED_MOST];
static unsigned nled;

// 0; -EEXIST: something is there.
static int map_at(uint64_t page)
{
	long got = cpu_syscall(SYS_mmap, (long)page, PAGE, PROT_READ | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (got > 0 && (uint64_t)got != page) { // a kernel that takes it for a hint
		cpu_syscall(SYS_munmap, got, PAGE, 0, 0, 0, 0);
		return -EEXIST;
	}
	return got < 0 ? (int)got : 0;
}

// A page below the object: above it a heap may grow.
static uint8_t *page_near(uint64_t lo)
{
	for (uint64_t off = STEP; off < REACH && off + STEP < lo; off += STEP) {
		uint64_t want = (lo - off) & ~(uint64_t)(PAGE - 1);
		int r = map_at(want);
		if (!r)
			return (uint8_t *)want;
		if (r != -EEXIST)
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

// The heap grows up, the first thread's stack down: memory that is theirs to take.
static bool is_in_way(uint64_t page)
{
	uint64_t heap = (uint64_t)cpu_syscall(SYS_brk, 0, 0, 0, 0, 0, 0), stack = getauxval(AT_RANDOM);
	struct rlimit limit = {0, 0};
	cpu_syscall(SYS_prlimit64, 0, RLIMIT_STACK, 0, (long)&limit, 0, 0);
	uint64_t room = limit.rlim_cur < STACK_LEAST ? STACK_LEAST :
			limit.rlim_cur > STACK_MOST  ? STACK_MOST :
						       limit.rlim_cur;
	return (page >= heap && page - heap < HEAP_ROOM) || (page < stack && stack - page < room);
}

static int have_page(uint64_t page)
{
	for (unsigned i = 0; i < nled; i++)
		if (led[i] == page)
			return 0;
	if (nled == LED_MOST || is_in_way(page))
		return -EEXIST;
	int r = map_at(page);
	if (!r)
		led[nled++] = page;
	return r;
}

// The place that the first byte alone leads to. NULL: it is taken.
static uint8_t *place_led(const uint8_t *at)
{
	static const uint8_t unused[SWITCHER_ENTRY_BYTES];
	const uint64_t pages = ~(uint64_t)(PAGE - 1);
	uint8_t *to = cpu_live_led(at);
	if (have_page((uint64_t)to & pages) || have_page((uint64_t)(to + sizeof(unused) - 1) & pages))
		return NULL;
	return memcmp(to, unused, sizeof(unused)) == 0 ? to : NULL;
}

static uint8_t *stub_led(const uint8_t *at, const struct switcher *s)
{
	uint8_t entry[SWITCHER_ENTRY_BYTES], *to = place_led(at);
	cpu_entry(entry, s);
	return !to || patch_write(to, entry, sizeof(entry)) ? NULL : to;
}

bool live_can(uint8_t *at)
{
	return cpu_live_entry(at) || place_led(at + cpu_landing_pad(at));
}

static int store(uint64_t *word, uint64_t was, uint64_t now)
{
	uint64_t page = (uint64_t)word & ~(uint64_t)(PAGE - 1);
	if (ctp_load64(word) != was)
		return -EBUSY;
	long r = cpu_syscall(SYS_mprotect, (long)page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, 0, 0, 0);
	if (r)
		return (int)r;
	bool stored = ctp_cas64(word, was, now);
	cpu_syscall(SYS_mprotect, (long)page, PAGE, PROT_READ | PROT_EXEC, 0, 0, 0);
	return stored ? 0 : -EBUSY;
}

int live_patch(struct live *l, const struct object *o, uint8_t *at, const struct switcher *s)
{
	uint8_t *entry = cpu_live_entry(at), *stub;
	bool near = entry != NULL;
	*l = (struct live){.word = NULL};
	if (!near)
		entry = at + cpu_landing_pad(at);
	if (page_writable((uint64_t)entry / PAGE_BYTES)) // a program that writes its own code
		return -EACCES;
	stub = near ? stub_of(o, entry, s) : stub_led(entry, s);
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

bool live_stands(const struct live *l)
{
	return ctp_load64(l->word) == l->now;
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
