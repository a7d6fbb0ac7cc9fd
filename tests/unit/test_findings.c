// SPDX-License-Identifier: MIT
//
// When a line is said, of whom, and how often. The suspects are made by hand, in the witness's place; the
// places are known without a child: the stacks are in no module.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/session/findings.h"
#include "engine/target/log.h"
#include "engine/witness/decided.h"

static struct suspect suspects[8];
static size_t nsuspects;
static struct ctp_ext ext;
static const struct ctp_region r = {.ext = &ext};
static uint64_t now = 1000000000;
static char log_name[] = "/tmp/test_findings.XXXXXX";

void witness_each(const struct witness *w, void (*each)(void *arg, const struct suspect *s), void *arg)
{
	(void)w;
	for (size_t i = 0; i < nsuspects; i++)
		each(arg, &suspects[i]);
}

static const char *said(struct findings *f)
{
	static char text[4096];
	for (int i = 0; i < 4; i++) {
		now += 100000000;
		findings_poll(f, now);
		if (f->places.looks)
			poll(&(struct pollfd){.fd = f->places.from, .events = POLLIN}, 1, -1);
	}
	FILE *in = fopen(log_name, "r");
	text[in ? fread(text, 1, sizeof(text) - 1, in) : 0] = '\0';
	if (in)
		fclose(in);
	assert_int_equal(truncate(log_name, 0), 0);
	return text;
}

static void suspect(uint64_t id, unsigned rule, enum decided is, unsigned stood)
{
	suspects[nsuspects++] = (struct suspect){
		.rule = rule, .s = {.id = id}, .decided = is, .stood = stood, .inspections = stood};
}

static void each_group_once(void **state)
{
	struct findings f;
	(void)state;
	findings_init(&f, &r, 4711, (const struct witness *)&ext);
	nsuspects = 0;
	assert_string_equal(said(&f), "");
	suspect(1, RULE_LOST_WAKEUP, DECIDED_PROVEN, 1);
	suspect(2, RULE_LOST_WAKEUP, DECIDED_LIKELY, 2); // may be decided otherwise yet
	assert_string_equal(said(&f), "");
	suspects[1].stood = suspects[1].inspections = 3;
	suspect(2, RULE_DELIVERED, DECIDED_LIKELY, 3); // the same coroutine: it stands in one finding
	assert_string_equal(said(&f), "ctp-run: CTP001 likely so far: 2 coroutines; see ctp-ps 4711\n");
	assert_int_equal(findings_standing(&f), 1);
	suspect(3, RULE_LOST_WAKEUP, DECIDED_PROVEN, 1);
	assert_string_equal(said(&f), ""); // it has grown
	suspect(4, RULE_TIMER, DECIDED_LIKELY, 3);
	assert_string_equal(said(&f), "ctp-run: CTP027 likely so far: 1 coroutine; see ctp-ps 4711\n");
	assert_int_equal(findings_standing(&f), 2);
	nsuspects = 0; // they ran
	assert_int_equal(findings_standing(&f), 0);
	findings_deinit(&f);
}

static void those_that_come_and_come_do_not_hold_it_up(void **state)
{
	struct findings f;
	(void)state;
	findings_init(&f, &r, 12, (const struct witness *)&ext);
	nsuspects = 0;
	suspect(1, RULE_LOST_WAKEUP, DECIDED_PROVEN, 1);
	suspect(2, RULE_LOST_WAKEUP, DECIDED_NOT, 0);
	assert_string_equal(said(&f), "");
	now += 3000000000;
	assert_string_equal(said(&f), "ctp-run: CTP001 proven so far: 1 coroutine; see ctp-ps 12\n");
	findings_deinit(&f);
	nsuspects = 0;
}

static void without_a_search_it_stands_longer(void **state)
{
	struct findings f;
	(void)state;
	findings_init(&f, &r, 12, (const struct witness *)&ext);
	nsuspects = 0;
	suspect(1, RULE_LOST_WAKEUP, DECIDED_LIKELY, 5);
	suspects[0].unsearched = true;
	assert_string_equal(said(&f), "");
	suspects[0].stood = suspects[0].inspections = 6;
	assert_string_equal(said(&f), "ctp-run: CTP001 likely so far: 1 coroutine; see ctp-ps 12\n");
	findings_deinit(&f);
	nsuspects = 0;
}

static void whom_a_sweep_may_resume_is_not_told_of(void **state)
{
	struct findings f;
	(void)state;
	findings_init(&f, &r, 12, (const struct witness *)&ext);
	nsuspects = 0;
	suspect(1, RULE_ONESHOT, DECIDED_LIKELY, 9);
	suspects[0].swept = true;
	assert_string_equal(said(&f), "");
	assert_int_equal(findings_standing(&f), 1); // it stands at the end
	suspects[0].swept = false;
	assert_string_equal(said(&f), "ctp-run: CTP005 likely so far: 1 coroutine; see ctp-ps 12\n");
	findings_deinit(&f);
	nsuspects = 0;
}

static void an_image_without_a_witness_has_none(void **state)
{
	struct findings f = {0};
	(void)state;
	assert_string_equal(said(&f), "");
	assert_int_equal(findings_standing(&f), 0);
	findings_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_group_once),
		cmocka_unit_test(those_that_come_and_come_do_not_hold_it_up),
		cmocka_unit_test(without_a_search_it_stands_longer),
		cmocka_unit_test(whom_a_sweep_may_resume_is_not_told_of),
		cmocka_unit_test(an_image_without_a_witness_has_none),
	};
	int fd = mkstemp(log_name);
	if (fd < 0 || log_open(log_name, LOG_SAY))
		return 1;
	close(fd);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(log_name);
	return failed;
}
