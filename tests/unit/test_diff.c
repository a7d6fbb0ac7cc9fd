// SPDX-License-Identifier: MIT
//
// Two traces beside each other: what differs by chance is not told, what is slower is, and a place
// is the same whatever the addresses in it have become.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/diff/diff.h"
#include "builder.h"
#include "trace_dir.h"

// ---------------------------------------------------------------- histograms

static uint64_t state;

static double chance(void) // from 0 to 1
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (double)(state >> 11) / (double)(1ULL << 53);
}

static void count(struct profile_histogram *h, double ns)
{
	unsigned bucket = ns >= 2 ? (unsigned)log2(ns) : 0;
	h->least = h->n && h->least < (uint64_t)ns ? h->least : (uint64_t)ns;
	h->n++;
	h->sum += (uint64_t)ns;
	h->most = (uint64_t)ns > h->most ? (uint64_t)ns : h->most;
	h->buckets[bucket]++;
}

// n times that are about `ns`, from a third to three times that, evenly by the logarithm.
static struct profile_histogram about(uint64_t seed, unsigned n, double ns)
{
	struct profile_histogram h = { 0 };
	state = seed;
	for (unsigned i = 0; i < n; i++)
		count(&h, ns * pow(9, chance() - 0.5));
	return h;
}

static enum diff_change compare(struct profile_histogram old, struct profile_histogram now)
{
	double ratio;
	enum diff_change change = diff_stats_compare(&old, &now, &ratio);
	assert_true(change == DIFF_SLOWER ? ratio > 1 : change == DIFF_FASTER ? ratio < 1 : ratio == 1);
	return change;
}

static void chance_is_not_told(void **unused)
{
	unsigned told = 0;
	for (uint64_t seed = 1; seed <= 2000; seed++)
		told += compare(about(seed, 20 + seed % 300, 5000), about(seed + 5000, 20 + seed % 170, 5000)) != DIFF_SAME;
	assert_in_range(told, 0, 4); // of 2,000 alike
	assert_int_equal(compare(about(1, 5000, 5000), about(2, 5000, 6000)), DIFF_SAME); // certain, but little
}

static void what_differs_is_told(void **unused)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		assert_int_equal(compare(about(seed, 200, 5000), about(seed + 5000, 200, 11000)), DIFF_SLOWER);
		assert_int_equal(compare(about(seed, 200, 11000), about(seed + 5000, 200, 5000)), DIFF_FASTER);
	}
	double ratio;
	struct profile_histogram a = about(7, 1000, 5000), b = about(8, 1000, 20000);
	diff_stats_compare(&a, &b, &ratio);
	assert_true(ratio > 3.5 && ratio < 4.5);
}

// All in one bucket: only the means tell.
static void within_a_bucket(void **unused)
{
	struct profile_histogram a = { 0 }, b = { 0 };
	for (unsigned i = 0; i < 100; i++) {
		count(&a, 1100);
		count(&b, 1950);
	}
	assert_int_equal(compare(a, b), DIFF_SLOWER);
	assert_int_equal(compare(b, a), DIFF_FASTER);
	assert_int_equal(compare(a, a), DIFF_SAME);
}

// One in fifty takes ten times as long: neither the median nor much else of it moves.
static void in_the_tail(void **unused)
{
	struct profile_histogram a = about(3, 5000, 1000), b = about(4, 4900, 1000);
	for (unsigned i = 0; i < 100; i++)
		count(&b, 1000000);
	assert_int_equal(compare(a, b), DIFF_SLOWER);
	assert_true(diff_stats_quantile(&b, 0.99) > 100000);
	assert_true(diff_stats_quantile(&b, 0.5) < 1500);
}

static void few_are_not_compared(void **unused)
{
	assert_int_equal(compare(about(1, 19, 10), about(2, 5000, 100000)), DIFF_FEW);
	assert_int_equal(compare(about(1, 5000, 10), about(2, 19, 100000)), DIFF_FEW);
	assert_int_equal(compare(about(1, 20, 10), about(2, 20, 100000)), DIFF_SLOWER);
}

static void quantiles(void **unused)
{
	struct profile_histogram h = { 0 };
	assert_true(diff_stats_quantile(&h, 0.5) == 0 && diff_stats_mean(&h) == 0);
	h = about(1, 100000, 5000);
	assert_true(fabs(diff_stats_quantile(&h, 0.5) - 5000) < 250);
	assert_true(diff_stats_quantile(&h, 1) <= (double)h.most);
	struct profile_histogram alike = { 0 }, more = { 0 };
	for (unsigned i = 0; i < 100; i++)
		count(&alike, 26000 + i);
	assert_true(diff_stats_quantile(&alike, 0.5) >= 26000 && diff_stats_quantile(&alike, 0.5) <= 26099);
	diff_stats_add(&more, &alike);
	assert_int_equal(more.least, 26000);
	struct profile_histogram most = { 0 };
	most.n = most.buckets[PROFILE_BUCKETS - 1] = 1;
	most.sum = most.most = UINT64_MAX / 2;
	assert_true(diff_stats_quantile(&most, 0.5) <= (double)most.most);
	assert_int_equal(compare(most, most), DIFF_FEW);
}

// -------------------------------------------------------------------- traces

static struct builder b;
static char paths[DIFF_SIDES][64];

static __attribute__((noinline)) void waits_here(void)
{
	__asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop");
}

static __attribute__((noinline)) void rests_here(void)
{
	__asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop; nop");
}

static int begin(void **unused)
{
	if (trace_dir_begin())
		return -1;
	for (int i = 0; i < DIFF_SIDES; i++)
		snprintf(paths[i], sizeof(paths[i]), "%s/%d", dir, i);
	return 0;
}

// Coroutine 2 runs `rounds` slices of `ns`, each from and to waits_here, `off` bytes into it, and 3,
// which another thread runs, 200 of 4,000 ns; at the end `left` others wait in rests_here.
static void trace(const char *path, unsigned rounds, uint64_t ns, unsigned off, unsigned left)
{
	static struct ctp_record r[2][2002];
	assert_int_equal(builder_begin(&b, path), 0);
	builder_self(&b);
	builder_thread(&b, 100, 1);
	builder_thread(&b, 101, 4);
	uint32_t stacks[] = { builder_stack(&b, 1, (uint64_t[]){ (uint64_t)(uintptr_t)waits_here + off }),
			      builder_stack(&b, 1, (uint64_t[]){ (uint64_t)(uintptr_t)rests_here + off }) };
	for (uint64_t i = 0; i < 2; i++) {
		uint64_t native = i ? 4 : 1, id = 2 + i, slice = i ? 4000 : ns, t = BUILDER_START;
		unsigned n = i ? 200 : rounds;
		ctp_record_set(&r[i][0], &r[i][1], t, ctp_w1(CTP_EV_SWITCH, CTP_HOW_SWAP, native) | (uint64_t)CTP_MARK_NEAR << 56,
			       ctp_w2(id, 0), 1ULL << 32 | 1);
		for (unsigned k = 2; k <= 2 * n; k++) {
			t += k % 2 ? 1000 : slice;
			ctp_record_set_short(&r[i][k], t, CTP_HOW_SWAP, k % 2 ? id : native, k % 2 ? 0 : stacks[i], k);
		}
		assert_int_equal(builder_stream(&b, (unsigned)i, r[i], 2 * n + 1, 50, 0), 0);
	}
	for (unsigned i = 0; i < left; i++) {
		struct ctp_state *c = builder_coroutine(&b, 100 + i, CTP_SUSPENDED);
		c->stack = stacks[1];
	}
	assert_int_equal(builder_end(&b), 0);
}

static void make(struct diff *d, struct world w[DIFF_SIDES])
{
	struct report_settings settings = { .minimum = VERDICT_SUSPECT };
	struct world_error error;
	int at;
	for (int i = 0; i < DIFF_SIDES; i++)
		assert_int_equal(world_open(&w[i], paths[i], 0, NULL, &error), 0);
	assert_int_equal(diff_make(d, &w[0], &w[1], &settings, &at), 0);
}

static void done(struct diff *d, struct world w[DIFF_SIDES])
{
	diff_deinit(d);
	world_close(&w[0]);
	world_close(&w[1]);
}

static const struct diff_site *place(const struct diff *d, const char *where)
{
	for (size_t i = 0; i < d->nsites; i++)
		if (!strncmp(d->sites[i].where, where, strlen(where)))
			return &d->sites[i];
	fail_msg("nothing at %s", where);
	return NULL;
}

static void a_slower_slice(void **unused)
{
	struct world w[DIFF_SIDES];
	struct diff d;
	struct diff_shift *v;
	size_t n, few;
	trace(paths[DIFF_OLD], 300, 5000, 1, 3);
	trace(paths[DIFF_NEW], 400, 20000, 5, 7); // built anew: the places lie elsewhere
	make(&d, w);
	const struct diff_site *slow = place(&d, "waits_here"), *rest = place(&d, "rests_here");
	assert_int_equal(d.nsites, 2);
	assert_int_equal(slow->times[PROFILE_RUNNING][DIFF_OLD].n, 300);
	assert_int_equal(slow->times[PROFILE_RUNNING][DIFF_NEW].n, 400);
	assert_int_equal(slow->times[PROFILE_RUNNING][DIFF_NEW].sum, 400 * 20000);
	assert_int_equal(rest->suspended[DIFF_OLD], 3);
	assert_int_equal(rest->suspended[DIFF_NEW], 7);
	assert_int_equal(diff_shifts(&d, &v, &n, &few), 0);
	assert_int_equal(n, 1); // the slice there, and no wait, and nothing of the other
	assert_ptr_equal(v[0].site, slow);
	assert_int_equal(v[0].weight, PROFILE_RUNNING);
	assert_int_equal(v[0].change, DIFF_SLOWER);
	assert_true(v[0].ratio > 3.5 && v[0].ratio < 4.5);
	free(v);
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);
	assert_int_equal(diff_text(to, &d, false), 0);
	fclose(to);
	assert_non_null(strstr(text, "\nslice    4.0x longer: median "));
	assert_non_null(strstr(text, "mean 5.0 us -> 20.0 us, "));
	for (char *line = text; (line = strchr(line, '\n')); line++) // no line begins or ends within a value
		assert_true(line == text || (strncmp(line - 3, " ->", 3) && strncmp(line - 2, " n", 2)));
	assert_non_null(strstr(text, "\nwaiting  3 -> 7 at rests_here"));
	assert_non_null(strstr(text, "\n0 new findings, 0 vanished, 1 place slower, 0 faster\n"));
	free(text);
	done(&d, w);
}

static void the_same_twice(void **unused)
{
	struct world w[DIFF_SIDES];
	struct diff d;
	struct diff_shift *v;
	size_t n, few;
	trace(paths[DIFF_OLD], 300, 5000, 1, 3);
	trace(paths[DIFF_NEW], 300, 5000, 1, 3);
	make(&d, w);
	assert_int_equal(diff_shifts(&d, &v, &n, &few), 0);
	assert_int_equal(n, 0);
	free(v);
	done(&d, w);
}

int main(void)
{
	waits_here();
	rests_here();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chance_is_not_told), cmocka_unit_test(what_differs_is_told), cmocka_unit_test(within_a_bucket),
		cmocka_unit_test(in_the_tail), cmocka_unit_test(few_are_not_compared), cmocka_unit_test(quantiles),
		cmocka_unit_test_setup_teardown(a_slower_slice, begin, trace_dir_end),
		cmocka_unit_test_setup_teardown(the_same_twice, begin, trace_dir_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
