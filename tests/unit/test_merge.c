// SPDX-License-Identifier: MIT
//
// Records of several threads must come out with every coroutine's changes in
// order, whatever the clocks and the order of harvesting say.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "codec/jsonl.h"
#include "codec/merge.h"

struct seen {
	uint64_t from[32], to[32], from_n[32], to_n[32];
	bool gap[32];
	unsigned n;
};

static void sink(void *arg, const struct ctp_merged *m)
{
	struct seen *s = arg;
	if (!m->to)
		return;
	s->from[s->n] = m->from->id;
	s->to[s->n] = m->to->id;
	s->from_n[s->n] = m->from_n;
	s->to_n[s->n] = m->to_n;
	s->gap[s->n++] = m->gap;
}

static struct ctp_event sw(uint64_t time, uint64_t from, uint32_t from_n, uint64_t to, uint32_t to_n)
{
	return (struct ctp_event){ .time = time, .kind = CTP_EV_SWITCH, .how = CTP_HOW_SWAP, .a = from, .b = to,
				   .a_n = from_n, .b_n = to_n, .full = true };
}

// The same as a record of one slot has it.
static struct ctp_event lo(uint64_t time, uint64_t from, uint64_t from_n, uint64_t to, uint64_t to_n)
{
	struct ctp_event e = sw(time, from, from_n & CTP_SHORT_MASK, to, to_n & CTP_SHORT_MASK);
	e.full = false;
	return e;
}

static void push(struct ctp_merge *m, uint32_t queue, struct ctp_event r)
{
	assert_int_equal(ctp_merge_push(m, queue, 100 + queue, &r, 1), 0);
}

// Coroutine 3 moves from thread 0 to thread 1, whose ring was read first.
static void a_move_between_threads_waits(void **state)
{
	struct seen s = { .n = 0 };
	struct ctp_merge *m = ctp_merge_new(sink, &s);
	push(m, 1, sw(30, 2, 1, 3, 3));
	ctp_merge_turn(m);
	assert_int_equal(s.n, 0);
	push(m, 0, sw(10, 1, 1, 3, 1));
	push(m, 0, sw(20, 3, 2, 1, 2));
	ctp_merge_turn(m);
	assert_int_equal(s.n, 3);
	assert_int_equal(s.from[2], 2);
	assert_int_equal(s.to_n[2], 3);
	assert_false(s.gap[2]);
	ctp_merge_free(m);
}

static void counts_go_before_clocks(void **state)
{
	struct seen s = { .n = 0 };
	struct ctp_merge *m = ctp_merge_new(sink, &s);
	push(m, 0, sw(20, 1, 1, 3, 1));
	push(m, 0, sw(25, 3, 2, 1, 2));
	push(m, 1, sw(19, 2, 1, 3, 3)); // the other CPU's clock is behind
	ctp_merge_turn(m);
	assert_int_equal(s.n, 3);
	assert_int_equal(s.from[2], 2);
	ctp_merge_free(m);
}

// The same where the end has come: the clock is behind by less than two CPUs' may differ.
static void counts_go_before_clocks_at_the_end(void **state)
{
	struct seen s = { .n = 0 };
	struct ctp_merge *m = ctp_merge_new(sink, &s);
	push(m, 1, sw(30, 2, 1, 3, 3));
	push(m, 0, sw(35, 1, 1, 3, 1));
	push(m, 0, sw(40, 3, 2, 1, 2));
	ctp_merge_flush(m);
	assert_int_equal(s.n, 3);
	assert_int_equal(s.from[2], 2);
	assert_false(s.gap[0] || s.gap[1] || s.gap[2]);
	ctp_merge_free(m);
}

static void count_sink(void *arg, const struct ctp_merged *m)
{
	*(unsigned *)arg += !m->gap && m->from_n >= 1 && m->to_n == 1;
}

// More coroutines than there is room for at first.
static void many_coroutines(void **state)
{
	enum { MANY = 5000 };
	unsigned n = 0;
	struct ctp_merge *m = ctp_merge_new(count_sink, &n);
	for (uint32_t i = 0; i < MANY; i++) {
		push(m, 0, sw(10 + 2 * i, 1, 2 * i + 1, 1000 + i, 1));
		push(m, 0, sw(11 + 2 * i, 1000 + i, 2, 1, 2 * i + 2));
	}
	ctp_merge_flush(m);
	assert_int_equal(n, MANY);
	ctp_merge_free(m);
}

static void a_lost_record_is_a_gap_after_a_round(void **state)
{
	struct seen s = { .n = 0 };
	struct ctp_merge *m = ctp_merge_new(sink, &s);
	push(m, 0, sw(10, 1, 1, 3, 1));
	push(m, 0, sw(40, 1, 5, 3, 5));
	ctp_merge_turn(m);
	assert_int_equal(s.n, 1);
	ctp_merge_turn(m);
	assert_int_equal(s.n, 2);
	assert_true(s.gap[1]);
	assert_int_equal(s.from_n[1], 5);
	push(m, 0, sw(41, 3, 4, 1, 4)); // it comes after all: too late
	ctp_merge_flush(m);
	assert_int_equal(s.n, 2);
	ctp_merge_free(m);
}

static void counts_go_on_beyond_32_bits(void **state)
{
	struct seen s = { .n = 0 };
	struct ctp_merge *m = ctp_merge_new(sink, &s);
	push(m, 0, sw(10, 1, 0x70000000, 3, 1));
	push(m, 0, sw(11, 1, 0xe0000000, 3, 2));
	push(m, 0, sw(12, 1, 0x10, 3, 3));
	ctp_merge_flush(m);
	assert_int_equal(s.n, 3);
	assert_int_equal(s.from_n[2], 0x100000010);
	ctp_merge_free(m);
}

// Two threads, one time: only numbers tell.
static void ties_are_broken_by_numbers(void **state)
{
	for (unsigned first = 0; first < 2; first++) {
		struct seen s = { .n = 0 };
		struct ctp_merge *m = ctp_merge_new(sink, &s);
		push(m, first, lo(10, 2, 1, 3, 3));
		push(m, first, lo(10, 3, 4, 2, 2));
		push(m, !first, lo(10, 1, 1, 3, 1));
		push(m, !first, lo(10, 3, 2, 1, 2));
		push(m, !first, lo(10, 1, 3, 3, 5));
		ctp_merge_turn(m);
		assert_int_equal(s.n, 5);
		for (unsigned i = 0, n = 0; i < 5; i++) {
			uint64_t is = s.from[i] == 3 ? s.from_n[i] : s.to_n[i];
			assert_int_equal(is, ++n);
		}
		ctp_merge_free(m);
	}
}

static void low_bits_go_on(void **state)
{
	enum { STEP = 1 << 20 };
	struct seen s = { .n = 0 };
	struct ctp_merge *m = ctp_merge_new(sink, &s);
	for (uint64_t i = 1; i <= 30; i++) // half of what lies between was lost
		push(m, 0, lo(i * STEP * 2, 1, i * STEP, 3, i * STEP));
	ctp_merge_flush(m);
	assert_int_equal(s.n, 30);
	assert_int_equal(s.from_n[29], 30 * STEP);
	assert_true(s.gap[29]);
	ctp_merge_free(m);
}

// Of a history whose beginning is gone: whatever it begins with counts, and what is told in full corrects it.
static void a_history_without_its_beginning(void **state)
{
	const uint64_t much = (9ULL << CTP_SHORT_BITS) - 2;
	struct seen s = { .n = 0 };
	struct ctp_merge *m = ctp_merge_new(sink, &s);
	push(m, 0, lo(1000000000, 1, much, 3, much));
	push(m, 0, lo(1000000001, 3, much + 1, 1, much + 1));
	push(m, 0, sw(1000000002, 1, (uint32_t)much + 2, 3, (uint32_t)much + 2));
	push(m, 0, lo(1000000003, 3, much + 3, 1, much + 3));
	ctp_merge_flush(m);
	assert_int_equal(s.n, 4);
	assert_int_equal(s.to_n[3], much + 3);
	ctp_merge_free(m);
}

static void whole_streams_are_asked_for(void **state)
{
	struct seen s = { .n = 0 };
	struct ctp_merge *m = ctp_merge_new(sink, &s);
	ctp_merge_open(m, 0);
	ctp_merge_open(m, 1);
	push(m, 0, sw(10, 1, 1, 3, 1));
	assert_int_equal(ctp_merge_run(m), 1);
	assert_int_equal(s.n, 0);
	push(m, 1, sw(5, 2, 1, 4, 1));
	assert_int_equal(ctp_merge_run(m), 1);
	assert_int_equal(s.from[0], 2);
	ctp_merge_close(m, 1);
	assert_int_equal(ctp_merge_run(m), 0);
	assert_int_equal(s.n, 2);
	ctp_merge_close(m, 0);
	assert_int_equal(ctp_merge_run(m), UINT32_MAX);
	ctp_merge_free(m);
}

static void the_line_is_the_contract_s(void **state)
{
	char out[CTP_JSONL_MAX];
	struct ctp_jsonl_line l = { .probe_id = 3, .tid = 456, .addr = 0x55d0c0ffee00, .seq = 2, .ts = 123456789 };
	static const char want[] = "{\"probe_id\":3,\"tid\":456,\"addr\":\"0x000055d0c0ffee00\",\"seq\":2,"
				   "\"is_active\":false,\"ts\":123456789}\n";
	size_t n = ctp_jsonl_format(out, &l);
	assert_int_equal(n, sizeof(want) - 1);
	assert_memory_equal(out, want, n);
	l = (struct ctp_jsonl_line){ UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, false, true, UINT64_MAX };
	assert_true(ctp_jsonl_format(out, &l) <= CTP_JSONL_MAX);
}

static void lines_are_as_printf_would_write_them(void **state)
{
	uint64_t seed = 1;
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t v[6];
		for (unsigned k = 0; k < 6; k++) {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			uint64_t power = 1;
			for (unsigned d = (unsigned)(seed >> 59) % 19 + 1; d; d--)
				power *= 10;
			v[k] = i % 3 ? seed >> (seed >> 40 & 63) : power - 1 + (seed >> 33 & 1);
		}
		struct ctp_jsonl_line l = { v[0], v[1], v[2], v[3], v[4], i & 1, i & 2, i & 4, i & 8, i & 16, v[5] }, read;
		char out[CTP_JSONL_MAX], want[CTP_JSONL_MAX], more[64] = "";
		if (l.is_station)
			snprintf(more, sizeof(more), ",\"station_probe_id\":%" PRIu64, l.station_probe_id);
		int wants = snprintf(want, sizeof(want), "{\"probe_id\":%" PRIu64 ",\"tid\":%" PRIu64 ",\"addr\":\"0x%016" PRIx64
			"\",\"seq\":%" PRIu64 ",\"is_active\":%s,\"ts\":%" PRIu64 "%s%s%s%s}\n", l.probe_id, l.tid, l.addr, l.seq,
			l.is_active ? "true" : "false", l.ts, more, l.native ? ",\"native\":true" : "",
			l.finished ? ",\"finished\":true" : "", l.unread ? ",\"read\":false" : "");
		assert_int_equal(ctp_jsonl_format(out, &l), wants);
		assert_memory_equal(out, want, wants);
		uint64_t most = 1000000000000000000ULL;
		bool small = v[0] < most && v[1] < most && v[3] < most && v[4] < most && (!l.is_station || v[5] < most);
		assert_int_equal(ctp_jsonl_read(out, (size_t)wants, &read), small);
		if (!small)
			continue;
		assert_int_equal(ctp_jsonl_format(want, &read), wants);
		assert_memory_equal(out, want, wants);
		for (int n = 0; n < wants && i < 100; n++)
			assert_false(ctp_jsonl_read(out, (size_t)n, &read));
	}
}

static void other_lines_are_not_read_by_hand(void **state)
{
	static const char *const others[] = {
		"{\"probe_id\":03,\"tid\":4,\"addr\":\"0x000055d0c0ffee00\",\"seq\":2,\"is_active\":true,\"ts\":9}\n",
		"{\"probe_id\":-3,\"tid\":4,\"addr\":\"0x000055d0c0ffee00\",\"seq\":2,\"is_active\":true,\"ts\":9}\n",
		"{\"probe_id\":3,\"tid\":4,\"addr\":\"0x000055d0c0ffee0g\",\"seq\":2,\"is_active\":true,\"ts\":9}\n",
		"{\"probe_id\":3,\"tid\":4,\"addr\":\"0x000055d0c0ffee00\",\"seq\":2.5,\"is_active\":true,\"ts\":9}\n",
		"{\"probe_id\":3,\"tid\":4,\"addr\":\"0x000055d0c0ffee00\",\"seq\":2,\"is_active\":null,\"ts\":9}\n",
		"{\"probe_id\":3,\"tid\":4,\"addr\":\"0x000055d0c0ffee00\",\"seq\":2,\"is_active\":true,\"ts\":}\n",
		"{\"probe_id\":3,\"tid\":4,\"addr\":\"0x000055d0c0ffee00\",\"seq\":2,\"is_active\":true,\"ts\":9,\"native\":false}\n",
		"{\"probe_id\":3,\"tid\":4,\"addr\":\"0x000055d0c0ffee00\",\"seq\":2,\"is_active\":true,\"ts\":9}\n\n", "\n", "",
	};
	struct ctp_jsonl_line read;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(ctp_jsonl_read(others[i], strlen(others[i]), &read));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_move_between_threads_waits),
		cmocka_unit_test(counts_go_before_clocks), cmocka_unit_test(counts_go_before_clocks_at_the_end),
		cmocka_unit_test(many_coroutines),
		cmocka_unit_test(a_lost_record_is_a_gap_after_a_round),
		cmocka_unit_test(counts_go_on_beyond_32_bits),
		cmocka_unit_test(ties_are_broken_by_numbers), cmocka_unit_test(low_bits_go_on),
		cmocka_unit_test(a_history_without_its_beginning),
		cmocka_unit_test(whole_streams_are_asked_for),
		cmocka_unit_test(the_line_is_the_contract_s), cmocka_unit_test(lines_are_as_printf_would_write_them),
		cmocka_unit_test(other_lines_are_not_read_by_hand),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
