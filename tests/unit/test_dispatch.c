// SPDX-License-Identifier: MIT
//
// What the code of coroutines says about their state, and which coroutines there are.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fake_frames.h"

static const struct pair *pair_of(struct fake *f, const void *resume, const void *destroy)
{
	size_t same;
	const struct pair *p = pairs_find(&f->pairs, (uintptr_t)resume, (uintptr_t)destroy, &same);
	assert_non_null(p);
	assert_int_equal(same, 1);
	return p;
}

static void by_a_table(void **state)
{
	struct fake f;
	struct dispatch d;
	(void)state;
	fake_pairs(&f);
	const struct dispatch_code code = {fake_peek, &f.memory};
	const struct pair *p = pair_of(&f, leaf_resume, leaf_destroy);
	assert_int_equal(dispatch_learn(&d, p, &code), 0);
	assert_true(d.known);
	assert_int_equal(d.index.offset, 0x20);
	assert_int_equal(d.index.width, 2);
	assert_int_equal(dispatch_landing(&d, p, &code, 4), (uintptr_t)fake_leaf_4);
	assert_int_equal(dispatch_landing(&d, p, &code, 6), (uintptr_t)fake_leaf_6);
	assert_int_equal(dispatch_landing(&d, p, &code, 8), 0); // a trap
	const struct dispatch_store *s = dispatch_store(&d, 6);
	assert_true(s && s->at == (uintptr_t)fake_leaf_4 && !s->by_register && s->alone && !s->ramp);
	assert_int_equal(s->n, 3); // with its nop and its jump
	assert_true(dispatch_store(&d, 4) && dispatch_store(&d, 4)->by_register);
	assert_null(dispatch_store(&d, 8));
	// By a register that leads into the middle of the frame.
	assert_true(dispatch_store(&d, 10) && dispatch_store(&d, 10)->at == (uintptr_t)fake_leaf_10);
	dispatch_deinit(&d);
	fake_close(&f);
}

static void by_branches(void **state)
{
	struct fake f;
	struct dispatch d;
	(void)state;
	fake_pairs(&f);
	const struct dispatch_code code = {fake_peek, &f.memory};
	const struct pair *p = pair_of(&f, root_resume, root_destroy);
	assert_int_equal(dispatch_learn(&d, p, &code), 0);
	assert_true(d.known);
	assert_int_equal(d.index.offset, 0x28);
	assert_int_equal(d.index.width, 1);
	assert_int_equal(dispatch_landing(&d, p, &code, 1), (uintptr_t)fake_root_1);
	assert_true(dispatch_store(&d, 1) && dispatch_store(&d, 1)->at == (uintptr_t)fake_root_store);
	assert_true(dispatch_store(&d, 0) && dispatch_store(&d, 0)->ramp);
	dispatch_deinit(&d);
	fake_close(&f);
}

static unsigned reads;

static size_t counted_peek(void *ctx, uint64_t at, void *to, size_t bytes)
{
	reads++;
	return fake_peek(ctx, at, to, bytes);
}

// There may be a million coroutines in one state: its code is read for the first one.
static void asked_once(void **state)
{
	struct fake f;
	struct dispatch d;
	(void)state;
	fake_pairs(&f);
	const struct dispatch_code code = {counted_peek, &f.memory};
	const struct pair *p = pair_of(&f, root_resume, root_destroy);
	assert_int_equal(dispatch_learn(&d, p, &code), 0);
	uint64_t landing = dispatch_landing(&d, p, &code, 1);
	const struct dispatch_branch *branch = dispatch_branch(&d, 1);
	unsigned before = reads;
	assert_true(landing && before);
	assert_int_equal(dispatch_landing(&d, p, &code, 1), landing);
	assert_ptr_equal(dispatch_branch(&d, 1), branch);
	assert_int_equal(reads, before);
	dispatch_deinit(&d);
	fake_close(&f);
}

static void the_pairs(void **state)
{
	struct fake f;
	size_t same;
	(void)state;
	fake_pairs(&f);
	const struct pair *elided = pair_of(&f, root_resume, root_cleanup), *last;
	assert_true(elided->elided && elided->maker == PAIR_CLANG);
	assert_string_equal(elided->symbol, "_Z4rootv");
	assert_int_equal(elided->ncodes, 2);
	last = pairs_find(&f.pairs, 0, (uintptr_t)leaf_destroy, &same);
	assert_true(last && last->resume == (uintptr_t)leaf_resume && last->maker == PAIR_GCC &&
		    !last->elided);
	assert_null(pairs_find(&f.pairs, (uintptr_t)root_resume, (uintptr_t)leaf_destroy, &same));
	assert_null(pairs_find(&f.pairs, 0, 0, &same));
	fake_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_a_table),
		cmocka_unit_test(by_branches),
		cmocka_unit_test(asked_once),
		cmocka_unit_test(the_pairs),
	};
	return FAKE_CODE ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
