// SPDX-License-Identifier: MIT
//
// What looks like a saved context: words of the three kinds in one page of memory, and words that are nearly such.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_image.h"
#include "find/shapes.h"

enum { ASSEMBLY, SETJMP, BLOCK, ENGINES };
enum { SAVED = 1024, HOLDER = 64, UCONTEXT = 2048, JMPBUF = 512, IN_BLOCK = 3072 };
#define GUARD 0x1234567890abcdefULL

static struct fake_image f;
static struct sites sites;
static struct site_engine engines[ENGINES];
static struct site calls[ENGINES];
static struct shapes shapes;

static int open_image(void **state)
{
	fake_image_open(&f, "/bin/fake");
	memset(engines, 0, sizeof(engines));
	engines[ASSEMBLY].recipe = (struct recipe){.sp = 56, .regs = {[CTP_REG_PC] = {RECIPE_STACK, 48}, [CTP_REG_FP] = {RECIPE_STACK, 40}}};
	engines[SETJMP].kind = SITE_SETJMP;
	engines[BLOCK].recipe = (struct recipe){.regs = {[CTP_REG_PC] = {RECIPE_BLOCK, 8}, [CTP_REG_S0] = {RECIPE_BLOCK, -48}}};
	sites = (struct sites){.objects = &f.objects, .engines = engines, .nengines = ENGINES, .v = calls, .n = ENGINES};
	for (uint32_t i = 0; i < ENGINES; i++) {
		calls[i] = (struct site){fake_function(&f, 5 + (int)i) + 13, i};
		assert_int_equal(idmap_set(&sites.by_addr, calls[i].addr, i), 0);
	}
	return 0;
}

static int close_image(void **state)
{
	shapes_deinit(&shapes);
	idmap_deinit(&sites.by_addr);
	fake_image_close(&f);
	return 0;
}

static uint64_t at(int off)
{
	return (uintptr_t)f.data + (uint64_t)off;
}

static void put(int off, uint64_t word)
{
	memcpy(f.data + off, &word, sizeof(word));
}

static uint64_t disguised(uint64_t word)
{
	word ^= GUARD;
	return word << 17 | word >> 47;
}

static const struct shape *only(void)
{
	shapes_deinit(&shapes);
	assert_int_equal(shapes_find(&shapes, &f.image, &sites), 0);
	assert_string_equal(shapes.partial, "");
	return shapes.n == 1 ? shapes.v : NULL;
}

static void none(void)
{
	assert_null(only());
	assert_int_equal(shapes.n, 0);
}

static void on_its_stack(void **state)
{
	put(SAVED + 48, calls[ASSEMBLY].addr);
	put(SAVED + 40, 77);
	put(HOLDER, at(SAVED));
	const struct shape *one = only();
	assert_non_null(one);
	assert_int_equal(one->kind, SHAPE_ASSEMBLY);
	assert_int_equal(one->saved, at(SAVED));
	assert_int_equal(one->block, 0);
	assert_int_equal(one->regs[CTP_REG_PC], calls[ASSEMBLY].addr);
	assert_int_equal(one->regs[CTP_REG_SP], at(SAVED) + 56);
	assert_int_equal(one->regs[CTP_REG_FP], 77);
	assert_int_equal(one->nholders, 1);
	assert_int_equal(one->holders[0], at(HOLDER));
	assert_false(one->created);
	put(SAVED + 48, calls[ASSEMBLY].addr + 1);
	none();
}

static void in_a_block(void **state)
{
	put(IN_BLOCK, at(SAVED));
	put(IN_BLOCK + 8, calls[BLOCK].addr);
	put(IN_BLOCK - 48, 78);
	const struct shape *one = only();
	assert_non_null(one);
	assert_int_equal(one->block, at(IN_BLOCK));
	assert_int_equal(one->saved, at(SAVED));
	assert_int_equal(one->regs[CTP_REG_SP], at(SAVED));
	assert_int_equal(one->regs[CTP_REG_S0], 78);
	put(IN_BLOCK, at(SAVED) + 1); // no stack pointer is odd
	none();
}

static void in_glibcs_disguise(void **state)
{
	for (int i = 0; i < 6; i++)
		put(JMPBUF + 8 * i, i == 1 ? disguised(79) : 80);
	put(JMPBUF + 48, disguised(at(SAVED)));
	put(JMPBUF + 56, disguised(calls[SETJMP].addr));
	none(); // the guard is not known
	f.image.guard = GUARD;
	const struct shape *one = only();
	assert_non_null(one);
	assert_int_equal(one->kind, SHAPE_JMPBUF);
	assert_int_equal(one->block, at(JMPBUF));
	assert_int_equal(one->regs[CTP_REG_PC], calls[SETJMP].addr);
	assert_int_equal(one->regs[CTP_REG_SP], at(SAVED));
	assert_int_equal(one->regs[CTP_REG_FP], 79);
	assert_int_equal(one->regs[CTP_REG_S0], 80);
	const uint64_t words[2] = {disguised(at(SAVED)), disguised(calls[SETJMP].addr)}, other[2] = {words[0], words[1] + 1};
	assert_int_equal(shapes_where(one), at(JMPBUF) + 48);
	assert_true(shapes_keeps(one, &f.image, words));
	assert_false(shapes_keeps(one, &f.image, other));
}

static void a_ucontext_points_to_itself(void **state)
{
	put(UCONTEXT + 224, at(UCONTEXT) + 424);
	put(UCONTEXT + 16, at(SAVED));
	put(UCONTEXT + 32, 256);
	put(UCONTEXT + 40 + 8 * 15, at(SAVED) + 128);
	put(UCONTEXT + 40 + 8 * 16, 81);
	const struct shape *one = only();
	assert_non_null(one);
	assert_int_equal(one->kind, SHAPE_UCONTEXT);
	assert_int_equal(one->block, at(UCONTEXT));
	assert_int_equal(one->stack_lo, at(SAVED));
	assert_int_equal(one->stack_hi, at(SAVED) + 256);
	assert_int_equal(one->regs[CTP_REG_PC], 81);
	assert_false(one->copied);
	put(UCONTEXT + 40 + 8 * 15, at(SAVED) + 264); // not on the stack that it declares
	one = only();
	assert_non_null(one);
	assert_int_equal(one->stack_hi, 0);
	put(UCONTEXT + 224, at(UCONTEXT) + 425);
	none();
}

static void read_anew(void **state)
{
	put(SAVED + 48, calls[ASSEMBLY].addr);
	put(HOLDER, at(SAVED));
	const struct shape *found = only();
	assert_non_null(found);
	struct shape one = *found;
	assert_true(shapes_again(&one, &f.image, &sites));
	assert_int_equal(one.saved, at(SAVED));
	put(SAVED - 128 + 48, calls[ASSEMBLY].addr); // it has run, and was suspended deeper
	put(HOLDER, at(SAVED) - 128);
	assert_true(shapes_again(&one, &f.image, &sites));
	assert_int_equal(one.saved, at(SAVED) - 128);
	put(HOLDER, at(SAVED) - 256); // where no return address is
	assert_false(shapes_again(&one, &f.image, &sites));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(on_its_stack, open_image, close_image),
		cmocka_unit_test_setup_teardown(in_a_block, open_image, close_image),
		cmocka_unit_test_setup_teardown(in_glibcs_disguise, open_image, close_image),
		cmocka_unit_test_setup_teardown(a_ucontext_points_to_itself, open_image, close_image),
		cmocka_unit_test_setup_teardown(read_anew, open_image, close_image),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
