// SPDX-License-Identifier: MIT
//
// Stack naming (predict and verify, src/preload/coroutine/stacks.c) against libunwind as
// the reference: every answer must name exactly the frames that libunwind finds,
// on the first walk and when it comes from a candidate, also where two stacks
// share return address and depth.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <sys/mman.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "cpu.h"
#include "preload/guest/modules.h"
#include "preload/coroutine/stacks.h"

static struct tracer tracer;
struct tracer *ctp_tracer = &tracer;

static uint64_t last; // the one entity's note
static uint64_t top;  // above all frames of main

static int set_up(void **state)
{
	(void)state;
	struct ctp_header layout = {0};
	ctp_region_layout(&layout, 16, 4096);
	void *p = mmap(NULL, layout.ext.region_bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(p != MAP_FAILED);
	memcpy(p, &layout, sizeof(layout));
	assert_int_equal(ctp_region_open(&tracer.region, p, layout.ext.region_bytes), 0);
	modules_init("/proc/self/exe");
	top = (uint64_t)*(void **)dlsym(RTLD_DEFAULT, "__libc_stack_end");
	return stacks_init();
}

// Compares the name of the stack that ends in the caller with libunwind's walk.
static __attribute__((noinline)) uint32_t look(void)
{
	struct frame f;
	CPU_CALLER(&f);
	uint32_t id = stacks_id(&f, top & ~15ULL, &last);
	assert_int_not_equal(id, 0);

	const struct ctp_region *r = &tracer.region;
	const uint64_t *words = &r->stack_words[r->stack_index[id] - 1];
	assert_int_equal(words[0] >> 32 & CTP_STACK_GUESSED, 0);
	uint64_t pcs[256], n = 0;
	unw_context_t uc;
	unw_cursor_t c;
	unw_getcontext(&uc);
	unw_init_local(&c, &uc);
	while (unw_step(&c) > 0 && n < 256) { // the first step leaves look() itself
		unw_word_t ip;
		unw_get_reg(&c, UNW_REG_IP, &ip);
		if (ip)
			pcs[n++] = ip;
	}
	assert_int_equal(words[0] & 0xffffffff, n);
	assert_memory_equal(&words[1], pcs, n * sizeof(uint64_t));
	return id;
}

static __attribute__((noinline)) void two_calls_one_frame(void **state)
{
	(void)state;
	uint32_t a = look();
	uint32_t b = look();
	assert_int_not_equal(a, b);
}

static __attribute__((noinline)) void many(void)
{
	for (volatile int i = 0; i < 1000; i++)
		(void)look();
}

static __attribute__((noinline)) uint32_t stacks_after(void (*f)(void))
{
	f();
	return tracer.region.ext->stack_count;
}

static void predicted_not_walked(void **state)
{
	(void)state;
	uint32_t count[2];
	for (volatile int i = 0; i < 2; i++)
		count[i] = stacks_after(many);
	assert_int_equal(count[0], count[1]);
}

static __attribute__((noinline)) uint32_t same_depth(int which);
static __attribute__((noinline)) uint32_t inner(void)
{
	uint32_t id = look();
	__asm__ volatile("" ::: "memory");
	return id;
}
static uint32_t same_depth(int which)
{
	uint32_t id;
	if (which)
		id = inner();
	else
		id = inner();
	__asm__ volatile("" ::"r"(id) : "memory");
	return id;
}

static void alias_by_depth(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)
		(void)same_depth(i & 1);
}

static __attribute__((noinline)) uint32_t with_alloca(size_t n)
{
	volatile char *p = __builtin_alloca(n);
	p[0] = 1;
	uint32_t id = look();
	p[n - 1] = 2;
	return id;
}

static int compare(const void *a, const void *b)
{
	(void)look();
	return *(const int *)a - *(const int *)b;
}

static void frames_of_every_shape(void **state)
{
	(void)state;
	int v[] = {5, 2, 9, 1, 7, 3};
	for (size_t n = 16; n < 4096; n += 48)
		(void)with_alloca(n);
	for (int i = 0; i < 20; i++)
		qsort(v, 6, sizeof(int), compare); // through libc
}

static __attribute__((noinline)) uint32_t recurse(int n)
{
	uint32_t id = n ? recurse(n - 1) : look();
	__asm__ volatile("" ::"r"(id) : "memory");
	return id;
}

static __attribute__((noinline)) void all_depths(void)
{
	for (volatile int n = 0; n < 60; n++)
		(void)recurse(n);
}

static void recursion(void **state)
{
	(void)state;
	uint32_t count[3];
	for (volatile int i = 0; i < 3; i++)
		count[i] = stacks_after(all_depths);
	assert_int_equal(count[0], count[1]);
	assert_int_equal(count[0], count[2]);
}

// A function without unwind information that keeps a frame record, as assembly
// does; on aarch64 that record alone does not tell where the caller's frame lies.
void bare_call(void (*f)(void));
__asm__(".text\n.type bare_call, %function\nbare_call:\n\t"
#if defined(__x86_64__)
	"pushq %rbp\n\tmovq %rsp, %rbp\n\tcall *%rdi\n\tpopq %rbp\n\tret\n"
#elif defined(__aarch64__)
	"stp x29, x30, [sp, -48]!\n\tmov x29, sp\n\tblr x0\n\tldp x29, x30, [sp], 48\n\tret\n"
#endif
	".size bare_call, . - bare_call\n");

static uint32_t guessed_id;
static __attribute__((noinline)) void look_guessing(void)
{
	struct frame f;
	CPU_CALLER(&f);
	guessed_id = stacks_id(&f, top & ~15ULL, NULL);
}

static const uint64_t *words_of(uint32_t id)
{
	assert_int_not_equal(id, 0);
	return &tracer.region.stack_words[tracer.region.stack_index[id] - 1];
}

static __attribute__((noinline)) void through_no_cfi(void **state)
{
	(void)state;
	bare_call(look_guessing);
	const uint64_t *there = words_of(guessed_id), *here = words_of(look());
	uint64_t n = here[0] & 0xffffffff;
	assert_int_equal(there[0] >> 32, CTP_STACK_GUESSED);
	assert_int_equal(there[0] & 0xffffffff, n + 1); // bare_call's
	assert_memory_equal(&there[3], &here[2], (n - 1) * sizeof(uint64_t)); // all but where we stand
}

static void flush_forgets(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) { // what was added since the last flush goes with the next one
		for (volatile int k = 0; k < 2; k++) // from one place: walked, then predicted
			(void)recurse(3);
		struct candidate *c = (struct candidate *)last;
		assert_non_null(c);
		assert_int_not_equal(ctp_load64(&c->pc), 0);
		stacks_flush();
		assert_int_equal(ctp_load64(&c->pc), 0);
		for (uint32_t k = 0; k < 1u << (64 - STACKS_SHIFT); k++)
			assert_null(stacks_buckets[k]);
	}
}

static void bad_places(void **state)
{
	(void)state;
	struct frame f = {.pc = 1, .sp = top + 64};
	assert_int_equal(stacks_id(&f, top, NULL), 0); // above the top
	f.sp = top - 12;
	assert_int_equal(stacks_id(&f, top, NULL), 0); // unaligned
	f = (struct frame){.pc = 0x10, .sp = (top & ~15ULL) - 64, .fp = 3};
	uint32_t id = stacks_id(&f, top & ~15ULL, NULL); // no such code: one frame, no crash
	assert_int_not_equal(id, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_calls_one_frame), cmocka_unit_test(predicted_not_walked),
		cmocka_unit_test(alias_by_depth),
		cmocka_unit_test(frames_of_every_shape), cmocka_unit_test(recursion),
		cmocka_unit_test(through_no_cfi), cmocka_unit_test(flush_forgets), cmocka_unit_test(bad_places),
	};
	return cmocka_run_group_tests(tests, set_up, NULL);
}
