// SPDX-License-Identifier: MIT
//
// Metrics: where they may be asked for, slices and latencies out of records, and the text.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "ctp/record.h"
#include "ctp/rules.h"
#include "engine/metrics/metrics.h"
#include "engine/metrics/metrics_text.h"

static void addresses(void **state)
{
	(void)state;
	assert_true(metrics_is_address("9100"));
	assert_true(metrics_is_address("0"));
	assert_true(metrics_is_address("0.0.0.0:9100"));
	assert_true(metrics_is_address("[::1]:9100"));
	assert_true(metrics_is_address("unix:/run/m"));
	assert_false(metrics_is_address(""));
	assert_false(metrics_is_address("host"));
	assert_false(metrics_is_address(":9100"));
	assert_false(metrics_is_address("65536"));
	assert_false(metrics_is_address("-1"));
	assert_false(metrics_is_address("unix:"));
}

static struct ctp_record records[16];
static unsigned n;

static void put(uint64_t time, unsigned kind, unsigned how, uint64_t a, uint64_t b, uint64_t value)
{
	ctp_record_set(&records[n], &records[n + 1], time, ctp_w1(kind, how, a), ctp_w2(b, 0), value);
	n += 2;
}

static void take(struct metrics_times *t, uint64_t lost)
{
	struct writer_batch b = { .slot = 1, .use = 2, .slots = records, .n = n, .records = n / 2, .lost = lost,
				  .start = { .native = 1 } };
	metrics_times_take(t, &b);
	n = 0;
}

static void slices_and_latencies(void **state)
{
	struct clock_pairs clock = { .tsc = false };
	struct metrics_times *t = metrics_times_new(&clock);
	(void)state;
	put(1000, CTP_EV_SWITCH, CTP_HOW_SWAP, 1, 5, 0);   // 5 begins
	put(4000, CTP_EV_SWITCH, CTP_HOW_SWAP, 5, 1, 0);   // it ran 3 us
	put(5000, CTP_EV_READY, 0, 5, 1, 7);               // an event for it
	put(6000, CTP_EV_READY, 0, 5, 1, 7);               // and another one: the first counts
	put(25000, CTP_EV_SWITCH, CTP_HOW_SWAP, 1, 5, 0);  // it goes on after 20 us
	take(t, 0);
	put(26000, CTP_EV_SWITCH, CTP_HOW_SWAP, 5, 1, 0);  // 1 us
	take(t, 0);
	assert_int_equal(metrics_times_slices(t)->n, 2);
	assert_int_equal(metrics_times_slices(t)->buckets[0], 1); // up to 1 us
	assert_int_equal(metrics_times_slices(t)->buckets[1], 1); // up to 4 us
	assert_int_equal(metrics_times_latencies(t)->n, 1);
	assert_int_equal(metrics_times_latencies(t)->buckets[3], 1); // up to 64 us
	put(90000, CTP_EV_SWITCH, CTP_HOW_SWAP, 5, 1, 0); // records were lost before it: how long 5 ran is not known
	take(t, 3);
	assert_int_equal(metrics_times_slices(t)->n, 2);
	metrics_times_free(t);
}

static void text_is_bounded_and_escaped(void **state)
{
	struct metrics_values v = { .counts = { .nsites = 1, .sites = { { "a\"b\\c\n", 3 } }, .other_sites = 2 },
				    .sums = { .switches = 7 } };
	size_t bytes;
	(void)state;
	v.counts.findings[RULE_LOST_WAKEUP][0] = 4;
	char *text = metrics_text(&v, true, &bytes);
	assert_int_equal(strlen(text), bytes);
	assert_non_null(strstr(text, "ctp_suspended_coroutines{site=\"a\\\"b\\\\c?\"} 3\n"));
	assert_non_null(strstr(text, "ctp_suspended_coroutines{site=\"other\"} 2\n"));
	assert_non_null(strstr(text, "ctp_findings{rule=\"CTP001\",verdict=\"proven\"} 4\n"));
	assert_non_null(strstr(text, "# TYPE ctp_switches counter\n"));
	assert_non_null(strstr(text, "ctp_switches_total 7\n"));
	assert_null(strstr(text, "ctp_slice_duration")); // no history is read
	assert_string_equal(text + bytes - 6, "# EOF\n");
	free(text);
	text = metrics_text(&v, false, &bytes);
	assert_non_null(strstr(text, "# TYPE ctp_switches_total counter\n"));
	assert_null(strstr(text, "# UNIT"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses),
		cmocka_unit_test(slices_and_latencies),
		cmocka_unit_test(text_is_bounded_and_escaped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
