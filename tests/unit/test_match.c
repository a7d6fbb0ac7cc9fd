// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "entry.h"
#include "preload/patch/match.h"

// tests/targets/switchers.S, by the kinds of switchers.def; `near` sets no stack pointer
void sw_slot(void), sw_slot_back(void), sw_from(void), sw_struct(void), sw_save(void), sw_restore(void),
	sw_helper(void), sw_order(void), sw_order_slot(void), sw_moved(void), sw_flag(void), sw_floats(void), sw_enter(void);
void co_body(void);

void co_body(void) // what switchers.S begins contexts with
{
	abort();
}

static const struct {
	void (*fn)(void);
	const char *kind;
	enum switcher_family family;
} bodies[] = {
	{sw_slot, "libcoro", SWITCHER_SLOT},
	{sw_slot_back, "libco", SWITCHER_SLOT_BACK},
	{sw_from, "D runtime", SWITCHER_FROM},
	{sw_order, "switch of six registers", SWITCHER_FROM},
	{sw_order_slot, "switch of six registers", SWITCHER_SLOT},
	{sw_struct, "libaco", SWITCHER_STRUCT},
	{sw_save, "State Threads", SWITCHER_SAVE},
	{sw_restore, "State Threads", SWITCHER_RESTORE},
	{sw_helper, "SystemC QuickThreads", SWITCHER_HELPER},
	{sw_moved, "Ruby 3.4", SWITCHER_SLOT},
	{sw_flag, "Boost.Context 1.56", SWITCHER_FROM},
	{sw_floats, "Argobots 1.0", SWITCHER_FROM},
	{sw_enter, "Argobots 1.0", SWITCHER_ENTER},
};
enum { BODIES = sizeof(bodies) / sizeof(bodies[0]), PLACE = 256, ROOM = 1 << 13, MOST = 64 };

static const uint8_t *code(size_t i)
{
	const uint8_t *at;
	memcpy(&at, &bodies[i].fn, sizeof(at));
	return at;
}

static void test_rows(void **state)
{
	(void)state;
	assert_true(match_rows_count > 20);
	for (size_t i = 0; i < match_rows_count; i++) {
		const struct switcher_row *r = &match_rows[i];
		assert_true(r->prefix >= SWITCHER_ENTRY_BYTES && r->prefix <= SWITCHER_PREFIX_MOST);
		assert_true(r->prefix <= r->length && (!r->hole || r->hole >= r->prefix));
		assert_true(strlen(r->kind) < 32);
		for (size_t k = 0; k < i; k++)
			assert_true(match_rows[k].hash != r->hash || match_rows[k].length != r->length ||
				    (!r->hash && match_rows[k].anchor != r->anchor));
	}
}

static void test_body(void **state)
{
	(void)state;
	for (size_t i = 0; i < BODIES; i++) {
		const struct switcher_row *r = match_at(code(i), code(i) + PLACE);
		assert_non_null(r);
		assert_string_equal(r->kind, bodies[i].kind);
		assert_int_equal(r->family, bodies[i].family);
		assert_null(match_at(code(i), code(i) + r->length - 1));
	}
}

// All bodies, somewhere in code that is none: *at[i] is where.
static uint8_t *lay_out(uint8_t **at)
{
	uint8_t *room = malloc(ROOM);
	assert_non_null(room);
	for (size_t i = 0; i < ROOM; i++)
		room[i] = (uint8_t)(i * 7);
	for (size_t i = 0; i < BODIES; i++) {
		at[i] = room + 40 + 300 * i;
		memcpy(at[i], code(i), match_at(code(i), code(i) + PLACE)->length);
	}
	return room;
}

static const struct match *found_at(const struct match *m, size_t n, const uint8_t *at)
{
	for (size_t i = 0; i < n; i++)
		if (m[i].at == at)
			return &m[i];
	return NULL;
}

static void test_all(void **state)
{
	(void)state;
	uint8_t *at[BODIES], *room = lay_out(at);
	struct match m[MOST];
	size_t n = match_all(room, room + ROOM, m, MOST);
	assert_int_equal(n, BODIES);
	for (size_t i = 0; i < BODIES; i++) {
		const struct match *one = found_at(m, n, at[i]);
		assert_non_null(one);
		assert_false(one->broken);
		assert_string_equal(one->row->kind, bodies[i].kind);
	}
	assert_int_equal(match_all(room, room + ROOM, m, 2), 2);
	free(room);
}

// Another byte anywhere: another function. A breakpoint's: the same, broken.
static void test_other_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < BODIES; i++) {
		uint8_t *at[BODIES], *room = lay_out(at);
		const struct switcher_row *r = match_at(at[i], room + ROOM);
		for (size_t k = 0; k < r->length; k++) {
			struct match m[MOST];
			uint8_t was = at[i][k];
			bool near = r->family == SWITCHER_MAKE || r->family == SWITCHER_SAVE;
			bool anchor = !r->hash || k - r->anchor_at < 3;
			at[i][k] ^= 2;
			assert_null(found_at(m, match_all(room, room + ROOM, m, MOST), at[i]));
			at[i][k] = 0xcc;
			const struct match *one = found_at(m, match_all(room, room + ROOM, m, MOST), at[i]);
			assert_true(!one || one->broken || was == 0xcc);
			if (!near && !anchor)
				assert_non_null(one);
			at[i][k] = was;
		}
		free(room);
	}
}

static bool sets_sp(const uint8_t *p)
{
	bool stored = (p[0] == 0x48 || p[0] == 0x4c) && p[1] == 0x89 && (p[2] & 0xc7) == 0xc4;
	bool loaded = (p[0] == 0x48 || p[0] == 0x49) && p[1] == 0x8b && (p[2] & 0x38) == 0x20;
	return stored || loaded;
}

// Against a plain loop, on bytes of which many are those that count.
static void find_by(cpu_scan *next)
{
	static const uint8_t likely[] = {0x48, 0x49, 0x4c, 0x89, 0x8b, 0xc4,
					 0xfc, 0x26, 0x27, 0x66, 0x00, 0x90};
	uint8_t bytes[4096];
	uint32_t random = 1;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		random = random * 1103515245 + 12345;
		bytes[i] = likely[(random >> 16) % sizeof(likely)];
	}
	const uint8_t *end = bytes + sizeof(bytes), *by = bytes;
	size_t found = 0;
	for (const uint8_t *p = bytes; p < end - 18; p++) {
		if (!sets_sp(p))
			continue;
		by = next(by, end);
		assert_ptr_equal(by, p);
		by++;
		found++;
	}
	assert_true(found > 20);
	assert_ptr_equal(next(end - 3, end), end);
}

static void test_next_sp(void **state)
{
	(void)state;
	find_by(cpu_next_sp);
	find_by(cpu_next_sp_best());
}

static void test_calls(void **state)
{
	(void)state;
	uint8_t room[64] = {0};
	const uint8_t call[] = {0xe8, 20, 0, 0, 0};
	memcpy(room + 7, call, sizeof(call));
	assert_true(match_calls(room, room + sizeof(room), room + 7 + 5 + 20));
	assert_false(match_calls(room, room + sizeof(room), room + 7 + 5 + 21));
	assert_false(match_calls(room, room + 11, room + 7 + 5 + 20));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),    cmocka_unit_test(test_body),
		cmocka_unit_test(test_all),     cmocka_unit_test(test_other_byte),
		cmocka_unit_test(test_next_sp), cmocka_unit_test(test_calls),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
