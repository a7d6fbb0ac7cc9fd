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
#include "preload/guest/page.h"
#include "preload/patch/live.h"
#include "preload/patch/patch.h"
#include "sanitized.h"

enum { THREADS = 3, TIMES = 1000, PAGE = 4096 };

static struct tracer tracer = {.attached = 1};
struct tracer *ctp_tracer = &tracer;

// jump_fcontext and ontop_fcontext begin so; each returns 1, and the third has its instruction in two words. Most others
// begin as the fourth does: `inside` enters it behind its first instruction.
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
	".p2align 4\n"
	"pushed: push %rbp\n"
	"1:	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	mov $1, %eax\n"
	"	ret\n"
	"inside: push %rbp\n"
	"	jmp 1b\n"
	".p2align 12\n");
int one(void), two(void), across(void), pushed(void), inside(void);

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
			int a = one(), b = two(), c = pushed();
			wrong += (a != 1 && a != 2) || (b != 1 && b != 2) || (c != 1 && c != 2) || inside() != 1;
		}
	} while (!atomic_load(&over));
	return (void *)wrong;
}

// Is the place that a single byte leads to free? Seldom it is not.
static bool has_room(int (*fn)(void))
{
	return live_can(code(fn)) && live_can(code(fn)); // once more does no harm
}

static void test_under_threads(void **state)
{
	const struct object o = self();
	struct switcher s = switcher(other);
	struct live l[3];
	int n = has_room(pushed) ? 3 : 2;
	int (*const fns[])(void) = {one, two, pushed};
	pthread_t threads[THREADS];
	void *wrong;
	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run, NULL), 0);
	while (atomic_load(&begun) < THREADS)
		sched_yield();
	for (int k = 0; k < n; k++)
		assert_int_equal(live_patch(&l[k], &o, code(fns[k]), &s), 0);
	live_fetch_anew();
	for (int i = 0; i < TIMES; i++) {
		for (int k = 0; k < n; k++) {
			assert_true(live_stands(&l[k]));
			assert_int_equal(fns[k](), 2);
			assert_int_equal(live_undo(&l[k]), 0);
		}
		live_fetch_anew();
		for (int k = 0; k < n; k++) {
			assert_false(live_stands(&l[k]));
			assert_int_equal(fns[k](), 1);
			assert_int_equal(live_redo(&l[k]), 0);
		}
		live_fetch_anew();
	}
	for (int k = 0; k < n; k++) {
		assert_int_equal(live_undo(&l[k]), 0);
		assert_int_equal(live_undo(&l[k]), -EBUSY); // it is not what it was left as
	}
	atomic_store(&over, true);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	assert_int_equal(one() + two() + pushed(), 3);
	if (n < 3)
		skip();
}

// One byte of it is written: whoever stands behind that finds what was there.
static void test_one_byte(void **state)
{
	const struct object o = self();
	struct switcher s = switcher(other);
	struct live l;
	uint8_t before[16];
	(void)state;
	memcpy(before, code(across), sizeof(before));
	if (!has_room(across))
		skip();
	assert_int_equal(live_patch(&l, &o, code(across), &s), 0);
	assert_int_equal(across(), 2);
	assert_int_not_equal(*code(across), before[0]);
	assert_memory_equal(code(across) + 1, before + 1, sizeof(before) - 1);
	assert_int_equal(live_undo(&l), 0);
	assert_int_equal(across(), 1);
	assert_memory_equal(code(across), before, sizeof(before));
}

// Where its first byte would lead there is something of the program's.
static void test_refused(void **state)
{
	const struct object o = self();
	struct switcher s = switcher(other);
	struct live l;
	void *page = (void *)((uint64_t)cpu_live_led(code(across)) & ~(uint64_t)(PAGE - 1));
	(void)state;
	void *there = mmap(page, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_true(live_can(code(one)));
	assert_true(live_can(code(two)));
	assert_false(live_can(code(across)));
	assert_true(live_patch(&l, &o, code(across), &s) < 0);
	assert_null(l.word);
	assert_int_equal(across(), 1);
	if (there != MAP_FAILED)
		munmap(there, PAGE);
}

// Whatever the kernel's age: nothing is asked that only newer ones know. And what is asked about stays as it is.
static void test_page_writable(void **state)
{
	static const struct { int protection; bool can; } kinds[] = {
		{PROT_READ | PROT_WRITE, true}, {PROT_READ | PROT_WRITE | PROT_EXEC, true}, {PROT_READ, false},
		{PROT_READ | PROT_EXEC, false}, {PROT_NONE, false},
	};
	(void)state;
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (int filled = 0; filled < 2; filled++) {
			uint64_t *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			assert_true(page != MAP_FAILED);
			if (filled)
				page[0] = 0x8070605040302010;
			assert_int_equal(mprotect(page, PAGE, kinds[i].protection), 0);
			assert_int_equal(page_writable((uintptr_t)page / PAGE), kinds[i].can);
			assert_int_equal(mprotect(page, PAGE, PROT_READ), 0);
			assert_int_equal(page[0], filled ? 0x8070605040302010 : 0);
			munmap(page, PAGE);
			assert_false(page_writable((uintptr_t)page / PAGE));
		}
}

// Code that the program may write stays as it is, and writable.
static void test_writable(void **state)
{
	const struct object o = self();
	struct switcher s = switcher(other);
	struct live l;
	(void)state;
	assert_int_equal(mprotect(code(one), PAGE, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
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
		cmocka_unit_test(test_one_byte),
		cmocka_unit_test(test_page_writable),
		cmocka_unit_test(test_writable),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
