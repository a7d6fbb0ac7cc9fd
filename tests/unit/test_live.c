// SPDX-License-Identifier: MIT
//
// Functions of this program get an entry, and lose it, while threads run them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "entry.h"
#include "preload/guest/guest.h"
#include "preload/patch/live.h"
#include "preload/patch/patch.h"
#include "sanitized.h"

enum { THREADS = 3, TIMES = 1000, PAGE = 4096 };

static struct tracer tracer = {.attached = 1};
struct tracer *ctp_tracer = &tracer;

// jump_fcontext and ontop_fcontext begin so; each returns 1, and the third has its instruction in two words.
__asm__(".text\n"
	".p2align 12\n"
	"one: lea -0x38(%rsp), %rsp\n"
	"	lea 0x38(%rsp), %rsp\n"
	"	mov $1, %eax\n"
	"	ret\n"
	".p2align 4\n"
	"two: mov %rdx, %r8\n"
	"	lea -0x38(%rsp), %rsp\n"
	"	lea 0x38(%rsp), %rsp\n"
	"	mov $1, %eax\n"
	"	ret\n"
	".p2align 4\n"
	"	nop; nop; nop; nop\n"
	"across: lea -0x38(%rsp), %rsp\n"
	"	lea 0x38(%rsp), %rsp\n"
	"	mov $1, %eax\n"
	"	ret\n"
	".p2align 12\n");
int one(void), two(void), across(void);

static int other(void)
{
	return 2;
}

int patch_write(void *at, const void *bytes, size_t n)
{
	if (mprotect((void *)((uint64_t)at & ~(uint64_t)(PAGE - 1)), PAGE, PROT_READ | PROT_WRITE | PROT_EXEC))
		return -errno;
	memcpy(at, bytes, n);
	return 0;
}

static struct object self(void)
{
	struct object o;
	assert_true(object_read(&o, _r_debug.r_map));
	return o;
}

static struct switcher switcher(int (*fn)(void))
{
	struct switcher s = {.at = NULL};
	memcpy(&s.entry, &fn, sizeof(s.entry));
	return s;
}

static uint8_t *code(int (*fn)(void))
{
	uint8_t *at;
	memcpy(&at, &fn, sizeof(at));
	return at;
}

static atomic_bool over;
static atomic_int begun;

// How often it was neither the one nor the other.
static void *run(void *arg)
{
	uint64_t wrong = 0;
	(void)arg;
	atomic_fetch_add(&begun, 1);
	do {
		for (int i = 0; i < 100; i++) {
			int a = one(), b = two();
			wrong += (a != 1 && a != 2) || (b != 1 && b != 2);
		}
	} while (!atomic_load(&over));
	return (void *)wrong;
}

static void test_under_threads(void **state)
{
	const struct object o = self();
	struct switcher s = switcher(other);
	struct live l[2];
	pthread_t threads[THREADS];
	void *wrong;
	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run, NULL), 0);
	while (atomic_load(&begun) < THREADS)
		sched_yield();
	assert_int_equal(live_patch(&l[0], &o, code(one), &s), 0);
	assert_int_equal(live_patch(&l[1], &o, code(two), &s), 0);
	live_fetch_anew();
	for (int i = 0; i < TIMES; i++) {
		assert_int_equal(one() + two(), 4);
		assert_int_equal(live_undo(&l[0]) | live_undo(&l[1]), 0);
		live_fetch_anew();
		assert_int_equal(one() + two(), 2);
		assert_int_equal(live_redo(&l[0]) | live_redo(&l[1]), 0);
		live_fetch_anew();
	}
	assert_int_equal(live_undo(&l[0]) | live_undo(&l[1]), 0);
	assert_int_equal(live_undo(&l[0]), -EBUSY); // it is not what it was left as
	atomic_store(&over, true);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	assert_int_equal(one() + two(), 2);
}

static void test_refused(void **state)
{
	const struct object o = self();
	struct switcher s = switcher(other);
	struct live l;
	(void)state;
	assert_true(live_can(code(one)));
	assert_true(live_can(code(two)));
	assert_false(live_can(code(across)));
	assert_true(live_patch(&l, &o, code(across), &s) < 0);
	assert_null(l.word);
	assert_int_equal(across(), 1);
}

// Code that the program may write stays as it is, and writable.
static void test_writable(void **state)
{
	const struct object o = self();
	struct switcher s = switcher(other);
	struct live l;
	(void)state;
	assert_int_equal(mprotect(code(one), PAGE, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	if (madvise(code(one), PAGE, MADV_POPULATE_WRITE))
		skip(); // a kernel before 5.14
	assert_true(live_patch(&l, &o, code(one), &s) < 0);
	*(volatile uint8_t *)(code(one) + 40) = 0x90;
	assert_int_equal(one(), 1);
	assert_int_equal(mprotect(code(one), PAGE, PROT_READ | PROT_EXEC), 0);
}

int main(void)
{
	if (not_under(SANITIZED_THREAD, "a store to code is one to memory that the sanitizer does not know"))
		return SKIPPED_PROGRAM;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_under_threads),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_writable),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
