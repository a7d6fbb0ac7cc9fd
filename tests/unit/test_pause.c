// SPDX-License-Identifier: MIT
//
// Recording, stopped and started: what the manifest says of it, however often it is written.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/control/control.h"
#include "engine/session/pause.h"

static struct writer writer;
static struct options options;
static struct session s;

static int begin(void **state)
{
	writer = (struct writer){ .records = 5 };
	options = (struct options){ 0 };
	s = (struct session){ .options = &options, .recorder = { .writer = &writer, .output = OUTPUT_NONE } };
	s.recorder.manifest.modules = &s.recorder.modules;
	return 0;
}

static void each_pause_counts_once(void **state)
{
	assert_false(pause_end(&s));
	assert_true(pause_begin(&s));
	assert_false(pause_begin(&s));
	assert_true(writer.stopped && pause_lasts(&s));
	assert_true(pause_end(&s));
	assert_false(writer.stopped || pause_lasts(&s));
	uint64_t ns = pause_total_ns(&s);
	assert_true(ns > 0 && ns == pause_total_ns(&s));
	for (int i = 0; i < 10000; i++) {
		assert_true(pause_begin(&s));
		assert_true(pause_end(&s));
	}
	assert_int_equal(s.pauses.times, 10001);
	assert_true(pause_total_ns(&s) >= ns + 10000);
}

static void the_manifest_has_one_sentence(void **state)
{
	struct manifest *m = &s.recorder.manifest;
	pause_cover(&s);
	assert_int_equal(m->n_coverage + m->pauses, 0);
	pause_begin(&s);
	pause_cover(&s);
	assert_int_equal(m->pauses, 1);
	assert_non_null(strstr(m->coverage[0], "recording was stopped 1 time, for "));
	pause_end(&s);
	pause_begin(&s);
	writer.not_recorded = 77;
	pause_cover(&s);
	assert_int_equal(m->n_coverage, 1);
	assert_int_equal(m->pauses, 2);
	assert_int_equal(m->paused_records, 77);
	assert_non_null(strstr(m->coverage[0], "recording was stopped 2 times, for "));
	assert_non_null(strstr(m->coverage[0], ": 77 records of that time"));
}

static void verbs_are_refused_where_they_make_no_sense(void **state)
{
	struct control_reply r = { .state = CONTROL_OK };
	control_do(&s, "stop", "", &r);
	assert_int_equal(r.state, CONTROL_OK);
	assert_true(pause_lasts(&s));
	options.flight_bytes = 1;
	control_do(&s, "start", "", &r);
	assert_int_equal(r.state, CONTROL_REFUSED);
	assert_true(pause_lasts(&s));
	r = (struct control_reply){ .state = CONTROL_OK };
	control_do(&s, "dance", "", &r);
	assert_int_equal(r.state, CONTROL_REFUSED);
	assert_non_null(strstr(r.text, "'dance'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_pause_counts_once, begin),
		cmocka_unit_test_setup(the_manifest_has_one_sentence, begin),
		cmocka_unit_test_setup(verbs_are_refused_where_they_make_no_sense, begin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
