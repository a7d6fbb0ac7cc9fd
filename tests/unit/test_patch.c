// SPDX-License-Identifier: MIT
//
// Patches the switch functions of tests/targets/switchers.S, which are part of this program: all of them or none.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "entry.h"
#include "preload/guest/exit.h"
#include "preload/guest/guest.h"
#include "preload/guest/modules.h"
#include "preload/guest/say.h"
#include "preload/patch/patch.h"
#include "sanitized.h"

enum { ROWS = 32 };

void sw_slot(void), sw_struct(void), sw_save(void), sw_restore(void), sw_enter(void), sw_floats(void);
void co_body(void);
uint8_t cpu_pool[SWITCHERS_MOST * SWITCHER_PIECE];
static struct ctp_switch_function rows[ROWS];
static struct ctp_ext ext;
static struct tracer tracer = {.attached = 1};
struct tracer *ctp_tracer = &tracer;

#define TRAMPOLINE(name) \
	void transfer_##name(void) \
	{ \
		abort(); \
	}
TRAMPOLINE(handle)
TRAMPOLINE(ontop)
TRAMPOLINE(from)
TRAMPOLINE(enter)
TRAMPOLINE(slot)
TRAMPOLINE(slot_back)
TRAMPOLINE(helper)
TRAMPOLINE(struct)
TRAMPOLINE(save)
TRAMPOLINE(restore)
TRAMPOLINE(make)
TRAMPOLINE(greenlet)

void co_body(void)
{
	abort();
}

bool say_on;
void say_line(const char *format, ...)
{
	(void)format;
}

uint32_t modules_note_range(uint64_t base, uint64_t start, uint64_t end, const char *path)
{
	(void)base;
	(void)path;
	return start < end ? 8 : 0;
}

static uint8_t *code(void (*fn)(void))
{
	uint8_t *at;
	memcpy(&at, &fn, sizeof(at));
	return at;
}

static struct object self(void)
{
	struct object o;
	assert_true(object_read(&o, _r_debug.r_map));
	return o;
}

static uint32_t used(void)
{
	return tracer.region.ext->functions;
}

static int setup(void **state)
{
	(void)state;
	memset(rows, 0, sizeof(rows));
	memset(&ext, 0, sizeof(ext));
	tracer.region.ext = &ext;
	tracer.region.functions = rows;
	tracer.region.functions_max = ROWS;
	return 0;
}

// All that it says of them is one reason, and no entry has changed.
static void nothing(const struct object *o, enum patch_when when, enum ctp_function_reason why)
{
	uint8_t before[16];
	memcpy(before, code(sw_slot), sizeof(before));
	patch_object(o, when);
	patch_close();
	assert_memory_equal(before, code(sw_slot), sizeof(before));
	assert_false(patch_within(0, UINT64_MAX));
	assert_true(used() > 6);
	for (uint32_t i = 0; i < used(); i++) {
		assert_int_equal(rows[i].how, CTP_FUNCTION_REFUSED);
		assert_int_equal(rows[i].reason, why);
		assert_int_equal(rows[i].module, 7);
	}
}

static void test_breakpoint(void **state)
{
	const struct object o = self();
	uint8_t *at = code(sw_struct) + 20, was = *at, trap = 0xcc;
	(void)state;
	assert_int_equal(patch_write(at, &trap, 1), 0);
	nothing(&o, PATCH_FRESH, CTP_FUNCTION_BREAKPOINT);
	nothing(&o, PATCH_RUNS, CTP_FUNCTION_BREAKPOINT);
	assert_int_equal(patch_write(at, &was, 1), 0);
}

// Who restores needs who saves.
static void test_part(void **state)
{
	const struct object o = self();
	uint8_t *at = code(sw_save), was = *at, other = was ^ 2;
	(void)state;
	assert_int_equal(patch_write(at, &other, 1), 0);
	nothing(&o, PATCH_FRESH, CTP_FUNCTION_PART);
	assert_int_equal(patch_write(at, &was, 1), 0);
}

static void *wait_for(void *arg)
{
	pthread_mutex_lock(arg);
	pthread_mutex_unlock(arg);
	return NULL;
}

// Where threads may be in code, each function has one place to lead to. One of them is taken: none is patched.
static void test_taken(void **state)
{
	enum { PAGE = 4096 };
	const struct object o = self();
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_t other;
	void *page = (void *)((uint64_t)cpu_live_led(code(sw_slot)) & ~(uint64_t)(PAGE - 1));
	(void)state;
	void *there = mmap(page, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	pthread_mutex_lock(&lock);
	assert_int_equal(pthread_create(&other, NULL, wait_for, &lock), 0);
	nothing(&o, PATCH_START, CTP_FUNCTION_THREADS);
	pthread_mutex_unlock(&lock);
	pthread_join(other, NULL);
	nothing(&o, PATCH_RUNS, CTP_FUNCTION_THREADS);
	if (there != MAP_FAILED)
		munmap(there, PAGE);
}

// A program that has run for a while may stand in it anywhere: of each function one byte is written, and that is taken back.
static void test_runs(void **state)
{
	const struct object o = self();
	static void (*const fns[])(void) = {sw_slot, sw_struct, sw_save, sw_restore, sw_enter, sw_floats};
	uint8_t before[6][16];
	(void)state;
	if (not_under(SANITIZED_THREAD, "a store to code is one to memory that the sanitizer does not know"))
		skip();
	for (size_t i = 0; i < 6; i++)
		memcpy(before[i], code(fns[i]), sizeof(before[i]));
	patch_object(&o, PATCH_RUNS);
	patch_close();
	if (rows[0].reason == CTP_FUNCTION_THREADS)
		skip(); // one of the places happens to be taken
	assert_true(patch_instance(code(sw_save)) < patch_instance(code(sw_restore))); // who restores was seen to save
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < 6; i++) {
			const struct switcher *s = patch_instance(code(fns[i]));
			uint8_t entry[SWITCHER_ENTRY_BYTES];
			assert_non_null(s);
			assert_int_equal(rows[s->function - 1].how, CTP_FUNCTION_PATCHED);
			assert_int_equal(*code(fns[i]), 0xe9);
			assert_memory_equal(code(fns[i]) + 1, before[i] + 1, sizeof(before[i]) - 1);
			cpu_entry(entry, s);
			assert_memory_equal(cpu_live_led(code(fns[i])), entry, sizeof(entry));
		}
		patch_rest();
		for (size_t i = 0; i < 6; i++)
			assert_memory_equal(code(fns[i]), before[i], sizeof(before[i]));
		assert_true(patch_again(&o));
	}
	patch_rest();
	uint8_t *at = code(sw_slot), was = at[20], other = was ^ 2;
	assert_int_equal(patch_write(at + 20, &other, 1), 0); // its beginning is the same
	assert_true(patch_again(&o));
	assert_null(patch_instance(at));
	assert_memory_equal(at, before[0], 12);
	assert_int_equal(patch_write(at + 20, &was, 1), 0);
	patch_rest();
	patch_gone(o.start, o.end);
}

// The last: there is no way back but for an object that goes.
static void test_patched(void **state)
{
	const struct object o = self();
	static void (*const fns[])(void) = {sw_slot, sw_struct, sw_save, sw_restore, sw_enter, sw_floats};
	uint8_t before[6][16];
	(void)state;
	for (size_t i = 0; i < 6; i++)
		memcpy(before[i], code(fns[i]), sizeof(before[i]));
	patch_object(&o, PATCH_FRESH);
	patch_close();
	for (size_t i = 0; i < 6; i++) {
		uint8_t *at = code(fns[i]), entry[SWITCHER_ENTRY_BYTES];
		struct switcher *s = patch_instance(at);
		assert_non_null(s);
		assert_ptr_equal(s->at, at);
		assert_ptr_equal(s->entry, patch_trampoline(s->family));
		cpu_entry(entry, s);
		assert_memory_equal(at, entry, sizeof(entry));
		const uint8_t *behind = patch_behind(at), *back;
		assert_true(behind >= cpu_pool && behind < cpu_pool + sizeof(cpu_pool));
		assert_memory_equal(behind, before[i], s->row->prefix); // then jmp *0(%rip)
		memcpy(&back, behind + s->row->prefix + 6, sizeof(back));
		assert_ptr_equal(back, at + s->row->prefix);
		assert_ptr_equal(patch_instance(behind), s);
		assert_in_range(s->function, 1, used());
		assert_int_equal(rows[s->function - 1].addr, at);
		assert_int_equal(rows[s->function - 1].how, CTP_FUNCTION_PATCHED);
		assert_string_equal(rows[s->function - 1].kind, s->row->kind);
	}
	assert_ptr_equal(patch_behind(code(co_body)), code(co_body));
	assert_null(patch_instance(code(co_body)));
	assert_null(patch_behind(NULL));
	uint32_t noted = used();
	assert_int_equal(patch_note_interposed(&o, code(sw_slot), "Ruby"), patch_instance(code(sw_slot))->function);
	assert_int_equal(used(), noted); // its own row, again
	memset(rows, 0, sizeof(rows));
	ext.functions = 0;
	assert_true(patch_again(&o)); // in another region
	for (size_t i = 0; i < 6; i++) {
		const struct switcher *s = patch_instance(code(fns[i]));
		assert_in_range(s->function, 1, used());
		assert_int_equal(rows[s->function - 1].addr, code(fns[i]));
		assert_int_equal(rows[s->function - 1].how, CTP_FUNCTION_PATCHED);
	}
	assert_true(patch_within(o.start, o.end));
	patch_gone(o.start, o.end);
	assert_false(patch_within(o.start, o.end));
	assert_null(patch_instance(code(sw_slot)));
	assert_false(patch_again(&o));
}

static void test_unwritable(void **state)
{
	uint8_t byte = 0;
	(void)state;
	assert_true(patch_write((void *)8, &byte, 1) < 0);
	patch_close();
	patch_close(); // once more does no harm
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_breakpoint, setup), cmocka_unit_test_setup(test_part, setup),
		cmocka_unit_test_setup(test_taken, setup),	cmocka_unit_test_setup(test_runs, setup), cmocka_unit_test_setup(test_unwritable, setup),
		cmocka_unit_test_setup(test_patched, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
