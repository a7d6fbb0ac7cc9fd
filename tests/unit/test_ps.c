// SPDX-License-Identifier: MIT
//
// What ctp-ps makes of tables: groups and their order; records that are copied
// while they are written; stacks that are walked from outside.
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/maps.h"
#include "ctp/seq.h"
#include "ps/read/groups.h"
#include "ps/read/source.h"
#include "unwind/unwind.h"

// --------------------------------------------------------------------- groups

static struct coroutine asleep(uint64_t id, uint64_t entry, uint32_t stack, uint64_t ns)
{
	return (struct coroutine){ .id = id, .entry = entry, .stack = stack, .since_ns = ns, .life = CTP_SUSPENDED };
}

static void grouped_by_stack_and_entry(void **state)
{
	struct coroutine all[] = {
		asleep(1, 0x10, 7, 50), asleep(2, 0x10, 8, 90), asleep(3, 0x10, 7, 70), asleep(4, 0x20, 7, 60),
		asleep(5, 0x10, 7, 70),
	};
	struct groups g;
	assert_int_equal(groups_make(&g, all, 5, false), 0);
	assert_int_equal(g.n, 3);
	assert_int_equal(g.v[0].n, 1);
	assert_int_equal(g.v[0].first->id, 2); // 90 is the longest
	assert_int_equal(g.v[1].n, 3);
	assert_int_equal(g.v[1].stack, 7);
	assert_int_equal(g.v[1].first[0].id, 3); // equal times: by id
	assert_int_equal(g.v[1].first[1].id, 5);
	assert_int_equal(g.v[1].first[2].id, 1);
	assert_int_equal(g.v[2].first->id, 4);
	groups_deinit(&g);
}

static void states_in_order_and_runners_apart(void **state)
{
	struct coroutine all[] = {
		{ .id = 1, .entry = 1, .life = CTP_RUNNING, .since_ns = 1000 },
		{ .id = 2, .entry = 1, .life = CTP_RUNNING, .since_ns = 2000 },
		{ .id = 3, .entry = 1, .life = CTP_CREATED, .since_ns = 500, .creator_stack = 4 },
		{ .id = 4, .entry = 1, .life = CTP_CREATED, .since_ns = 600, .creator_stack = 4 },
		{ .id = 5, .entry = 1, .life = CTP_CREATED, .since_ns = 700, .creator_stack = 5 },
		asleep(6, 1, 1, 1),
	};
	const uint64_t first[] = { 6, 5, 4, 2, 1 };
	const size_t n[] = { 1, 1, 2, 1, 1 };
	struct groups g;
	assert_int_equal(groups_make(&g, all, 6, false), 0);
	assert_int_equal(g.n, 5);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(g.v[i].first->id, first[i]);
		assert_int_equal(g.v[i].n, n[i]);
	}
	groups_deinit(&g);
}

static void unknown_stacks_stay_apart(void **state)
{
	struct coroutine all[] = { asleep(1, 1, 0, 5), asleep(2, 1, 0, 9) };
	struct groups g;
	assert_int_equal(groups_make(&g, all, 2, false), 0);
	assert_int_equal(g.n, 2);
	assert_int_equal(g.v[0].first->id, 2);
	groups_deinit(&g);
}

static void creators_that_differ(void **state)
{
	struct coroutine all[] = { asleep(1, 1, 3, 5), asleep(2, 1, 3, 9), asleep(3, 1, 4, 2), asleep(4, 1, 4, 2) };
	struct groups g;
	all[1].creator_stack = 17;
	assert_int_equal(groups_make(&g, all, 4, false), 0);
	assert_int_equal(g.n, 2);
	assert_false(g.v[0].one_creator);
	assert_true(g.v[1].one_creator);
	groups_deinit(&g);
}

static void apart_and_empty(void **state)
{
	struct coroutine all[] = { asleep(1, 1, 1, 5), asleep(2, 1, 1, 9), asleep(3, 1, 1, 7) };
	struct groups g;
	assert_int_equal(groups_make(&g, all, 3, true), 0);
	assert_int_equal(g.n, 3);
	assert_int_equal(g.v[0].first->id, 2);
	assert_int_equal(g.v[1].first->id, 3);
	groups_deinit(&g);
	assert_int_equal(groups_make(&g, NULL, 0, false), 0);
	assert_int_equal(g.n, 0);
	groups_deinit(&g);
}

// -------------------------------------------------------------------- records

static struct ctp_state shared;
static atomic_bool stop;

static void *writer(void *arg)
{
	for (uint64_t n = 1; !atomic_load(&stop); n++) {
		ctp_state_begin(&shared);
		for (int i = 0; i < CTP_REGS; i++)
			shared.regs[i] = n;
		shared.changes = shared.guest[10] = n;
		ctp_state_end(&shared);
	}
	return NULL;
}

static void a_record_is_never_torn(void **state)
{
	struct source s = { .pid = getpid(), .base = (uint64_t)(uintptr_t)&shared, .bytes = sizeof(shared), .fd = -1 };
	struct ctp_state got;
	pthread_t thread;
	unsigned settled = 0;
	assert_int_equal(pthread_create(&thread, NULL, writer, NULL), 0);
	for (int i = 0; i < 20000; i++) {
		int r = source_read_record(&s, 0, &got, sizeof(got));
		assert_true(r == 0 || r == SOURCE_UNSETTLED);
		settled += r == 0;
		for (int k = 0; r == 0 && k < CTP_REGS; k++)
			assert_int_equal(got.regs[k], got.changes);
		if (r == 0)
			assert_int_equal(got.guest[10], got.changes);
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	assert_int_equal(source_read_record(&s, 0, &got, sizeof(got)), 0);
	ctp_state_begin(&shared); // and the writer is killed here
	assert_int_equal(source_read_record(&s, 0, &got, sizeof(got)), SOURCE_UNSETTLED);
	print_message("%u of 20000 settled\n", settled);
}

static void outside_of_the_region(void **state)
{
	unsigned char bytes[64] = "abc", to[64];
	struct source s = { .pid = getpid(), .base = (uint64_t)(uintptr_t)bytes, .bytes = sizeof(bytes), .fd = -1 };
	const uint64_t good[] = { 0, 32 }, bad[] = { 0, 40 }, mixed[] = { 2, 0, 1, 1 }; // of which one lies behind another
	assert_int_equal(source_read(&s, 0, to, 64), 0);
	assert_memory_equal(bytes, to, 64);
	assert_int_equal(source_read(&s, 1, to, 64), -EPROTO);
	assert_int_equal(source_read(&s, UINT64_MAX, to, 2), -EPROTO);
	assert_int_equal(source_read_many(&s, good, 2, to, 32), 0);
	assert_memory_equal(bytes, to, 64);
	assert_int_equal(source_read_many(&s, bad, 2, to, 32), -EPROTO);
	assert_int_equal(source_read_many(&s, mixed, 4, to, 1), 0);
	assert_memory_equal(to, "cabb", 4);
}

static void through_a_descriptor(void **state)
{
	char text[] = "0123456789abcdef", to[9] = "";
	const uint64_t offs[] = { 12, 0 };
	int fd = memfd_create("test", MFD_CLOEXEC);
	assert_int_equal(write(fd, text, 16), 16);
	struct source s = { .pid = 1, .bytes = 32, .fd = fd };
	assert_int_equal(source_read_many(&s, offs, 2, to, 4), 0);
	assert_string_equal(to, "cdef0123");
	assert_int_equal(source_read(&s, 16, to, 8), -EIO); // the file is shorter than the mapping
	close(fd);
}

// --------------------------------------------------------------------- stacks

static ucontext_t home, own;
static void *seen[64];
static int nseen;

static __attribute__((noinline)) void deep(int n)
{
	if (n) {
		deep(n - 1);
	} else {
		nseen = backtrace(seen, 64);
		swapcontext(&own, &home);
	}
	__asm__ volatile("" ::: "memory");
}

static void body(void)
{
	deep(5);
}

static struct ctp_state suspend(void)
{
	struct ctp_state s = { .life = CTP_SUSPENDED };
	char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	backtrace(seen, 64); // its first call allocates
	getcontext(&own);
	own.uc_stack.ss_sp = stack;
	own.uc_stack.ss_size = 65536;
	own.uc_link = &home;
	makecontext(&own, body, 0);
	swapcontext(&home, &own);
	s.lo = (uint64_t)(uintptr_t)stack;
	s.hi = s.lo + 65536;
#if defined(__x86_64__)
	const int order[CTP_REGS] = { REG_RIP, REG_RSP, REG_RBP, REG_RBX, REG_R12, REG_R13, REG_R14, REG_R15 };
	for (int i = 0; i < CTP_REGS; i++)
		s.regs[i] = (uint64_t)own.uc_mcontext.gregs[order[i]];
#else
	skip();
#endif
	return s;
}

// Do both have deep's five callers, body among them? A sanitizer has frames of its own below.
static bool as_seen(const uint64_t *pcs, size_t n)
{
	for (int a = 1; a < 4; a++)
		for (int b = 1; b < 4; b++)
			for (int i = 0; a + i < (int)n && b + i < nseen && pcs[a + i] == (uint64_t)(uintptr_t)seen[b + i]; i++)
				if (i == 5)
					return true;
	return false;
}

// Where unwind tables say that nothing called, no stack is read from the second time on.
static void an_end_is_known(void **state)
{
	struct ctp_state s = suspend();
	struct unwind_near near;
	struct unwind *u;
	uint64_t pcs[64];
	bool guessed = true;
	s.regs[CTP_REG_PC] = getauxval(AT_ENTRY) + 4; // in _start, behind its first instruction
	assert_int_equal(unwind_new(&u, getpid()), 0);
	unwind_fetch(u, &s, 1, &near);
	assert_true(near.have > 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(unwind_walk(u, &s, &near, pcs, 64, &guessed), 1);
		assert_int_equal(pcs[0], s.regs[CTP_REG_PC]);
		assert_false(guessed);
		unwind_fetch(u, &s, 1, &near);
		assert_int_equal(near.have, 0);
	}
	unwind_free(u);
}

static void a_stack_is_walked(void **state)
{
	struct ctp_state s[3] = { suspend() };
	struct unwind_near near[3];
	struct unwind *u;
	uint64_t pcs[64];
	assert_int_equal(unwind_new(&u, getpid()), 0);
	size_t n = unwind_walk(u, &s[0], NULL, pcs, 64, NULL);
	assert_true(as_seen(pcs, n));
	assert_int_equal(unwind_walk(u, &s[0], NULL, pcs, 3, NULL), 3);

	s[1] = s[2] = s[0];
	s[1].regs[CTP_REG_SP] = s[1].lo = 64; // nothing is mapped there
	s[1].hi = 4096;
	unwind_fetch(u, s, 3, near);
	assert_int_equal(near[1].have, 0);
	assert_true(near[0].have > 0 && near[2].have == near[0].have);
	memset((void *)(uintptr_t)(s[2].regs[CTP_REG_SP]), 0, near[2].have); // what was fetched counts
	assert_int_equal(unwind_walk(u, &s[2], &near[2], pcs, 64, NULL), n);
	assert_true(as_seen(pcs, n));
	assert_true(unwind_walk(u, &s[2], NULL, pcs, 64, NULL) <= 1);
	assert_true(unwind_walk(u, &s[1], &near[1], pcs, 64, NULL) <= 1);
	assert_int_equal(unwind_walk(u, &s[2], &near[2], pcs, 64, NULL), n); // that it ended there is not kept
	s[0].regs[CTP_REG_PC] = 12345; // no code
	assert_int_equal(unwind_walk(u, &s[0], NULL, pcs, 64, NULL), 0);
	unwind_free(u);
}

static int find_stack(void *arg, const struct maps_line *m)
{
	uint64_t here = (uint64_t)(uintptr_t)arg;
	return here >= m->lo && here < m->hi ? 1 + !strcmp(m->path, "[stack]") + !strcmp(m->perms, "rw-p") : 0;
}

static void mappings(void **state)
{
	int here;
	assert_int_equal(maps_each(getpid(), find_stack, &here), 3);
	assert_int_equal(maps_each(getpid(), find_stack, (void *)1), 0);
	assert_int_equal(maps_each(1 << 30, find_stack, NULL), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grouped_by_stack_and_entry), cmocka_unit_test(states_in_order_and_runners_apart),
		cmocka_unit_test(unknown_stacks_stay_apart), cmocka_unit_test(creators_that_differ),
		cmocka_unit_test(apart_and_empty), cmocka_unit_test(a_record_is_never_torn),
		cmocka_unit_test(outside_of_the_region), cmocka_unit_test(through_a_descriptor),
		cmocka_unit_test(a_stack_is_walked), cmocka_unit_test(an_end_is_known),
		cmocka_unit_test(mappings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
