// SPDX-License-Identifier: MIT
//
// Another list of events for a run: which regions it goes to, and what is still to come by.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/control/choose.h"

static struct options options;
static struct session s;
static struct ctp_ext exts[3];
static struct ctp_event_choice choices[3];
static struct ctp_event_row rows[3][2];

static struct ctp_region region(int i)
{
	strcpy(rows[i][0].text, "http");
	strcpy(rows[i][0].text + 5, "request");
	exts[i].events = 1;
	rows[i][0].ready = 1;
	return (struct ctp_region){.ext = &exts[i], .event_choice = &choices[i], .events = rows[i], .events_max = 2};
}

static int begin(void **state)
{
	(void)state;
	s = (struct session){.options = &options, .events = &options.events, .recorder.output = OUTPUT_NONE};
	s.first.region = region(0);
	struct process *p = session_process(&s);
	p->region = &s.first.region;
	p = session_process(&s);
	p->own.region = region(1);
	p->region = &p->own.region;
	s.spares[1].shm.region = region(2);
	s.spares[1].ready = true;
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (size_t i = 0; i < s.n_processes; i++)
		free(s.processes[i]);
	free(s.processes);
	event_list_deinit(&s.chosen);
	return 0;
}

static void says(int i, uint32_t seq, const char *list)
{
	assert_int_equal(choices[i].seq, seq);
	assert_int_equal(choices[i].bytes, strlen(list));
	assert_memory_equal(choices[i].text, list, strlen(list));
}

static void every_region_gets_it(void **state)
{
	(void)state;
	char why[200], none[100];
	assert_int_equal(choose_pending(&s), 0);
	assert_int_equal(choose_events(&s, "http:*,!db", why, sizeof(why)), 0);
	for (int i = 0; i < 3; i++)
		says(i, 2, "http:*,!db");
	assert_int_equal(choose_pending(&s), 2);
	exts[1].events_chosen = 2;
	assert_int_equal(choose_pending(&s), 1);
	s.processes[0]->ended = true;
	assert_int_equal(choose_pending(&s), 0);
	s.processes[0]->ended = false;
	assert_true(event_list_unmatched(s.events, none, sizeof(none)));
	assert_string_equal(none, "!db");
	assert_int_equal(choose_events(&s, "x", why, sizeof(why)), 0);
	says(1, 4, "x");
	assert_int_equal(choose_pending(&s), 2);
}

static void a_bad_list_changes_nothing(void **state)
{
	(void)state;
	char why[200];
	assert_int_equal(choose_events(&s, "http:*", why, sizeof(why)), 0);
	uint32_t seq = choices[0].seq;
	assert_true(choose_events(&s, "a:b:c", why, sizeof(why)) < 0);
	assert_non_null(strstr(why, "'a:b:c'"));
	says(0, seq, "http:*");
	assert_string_equal(s.events->text, "http:*");
	assert_ptr_equal(s.processes[1]->events, s.events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_region_gets_it),
		cmocka_unit_test(a_bad_list_changes_nothing),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
