// SPDX-License-Identifier: MIT
//
// CTP003 of those whom one coroutine resumed each time by its turn: it has had its turn since, and they have not
// answered a request; or it has ended. The history is made here.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define transitions_walk history
#include "../../src/analyze/parked/parked_history.c"
#include "../../src/analyze/parked/parked_resumer.c"
#include "../../src/analyze/parked/parked_gone.c"
#undef transitions_walk
#include "tables.h"

enum { LOOP = 1, RESUMER = 4, FIRST, USERS = 4, STACKS = 16, SLICES = 512, STATION = 30 };
enum { MADE = 3, READ, WAIT, HOME, AWAY, DONE };
#define MS 1000000ULL
#define S (1000 * MS)

static struct tables t;
static struct results out;
static unsigned char told[TABLES_ROWS];
static uint32_t stacks[STACKS];
static struct ctp_site sites[STACKS];
static struct slice {
	uint64_t at_us, id;
	uint32_t stack; // on which it is suspended at its end
	bool ends;
} slices[SLICES];
static size_t nslices;
static uint64_t now_us, accepted_ms;
static bool closed; // the connections

static void accepts(transitions_sink *each, void *arg)
{
	struct transition a = {.kind = CTP_EV_FD_OPEN, .how = CTP_CALL_ACCEPT, .ns = accepted_ms * MS};
	each(arg, &a);
}

int history(const struct world *w, transitions_sink *each, void *arg)
{
	struct ctp_merge_entity loop = {.id = LOOP, .native = true}, of[USERS + 1];
	bool accepted = false;
	(void)w;
	for (unsigned i = 0; i <= USERS; i++) {
		struct transition made = {.kind = CTP_EV_CREATE, .from = &of[i], .to = &loop, .stack = MADE};
		of[i] = (struct ctp_merge_entity){.id = RESUMER + i};
		each(arg, &made);
	}
	for (const struct slice *s = slices; s < slices + nslices; s++) {
		struct ctp_merge_entity *c = &of[s->id - RESUMER];
		struct transition in = {.kind = CTP_EV_SWITCH, .from = &loop, .to = c, .ns = s->at_us * 1000};
		struct transition ran = {.kind = CTP_EV_SWITCH, .from = c, .to = &loop, .ns = in.ns + MS / 100};
		if (!accepted && in.ns >= accepted_ms * MS)
			accepts(each, arg);
		accepted |= in.ns >= accepted_ms * MS;
		each(arg, &in);
		ran.stack = s->stack;
		ran.how = s->ends ? CTP_HOW_RETURN : 0;
		each(arg, &ran);
		c->since_ns = ran.ns;
		c->stack = s->stack;
		c->suspended = true;
	}
	return 0;
}

static void runs(uint64_t id, uint32_t stack)
{
	assert_true(nslices < SLICES);
	slices[nslices++] = (struct slice){.at_us = now_us, .id = id, .stack = stack};
	now_us += 20;
}

static void pause_ms(uint64_t ms)
{
	now_us += 1000 * ms;
}

static int begin(void **state)
{
	(void)state;
	tables_init(&t);
	memset(sites, 0, sizeof(sites));
	nslices = 0;
	now_us = 20000;
	accepted_ms = 15;
	closed = false;
	t.world.form = WORLD_DIRECTORY;
	t.world.snapshot_ns = 10 * S;
	t.image.has_tables = true;
	t.image.stack_index = (struct table){.rows = (const void *)stacks, .n = STACKS, .row_bytes = 4};
	t.image.sites = (struct table){.rows = (const void *)sites, .n = STACKS, .row_bytes = sizeof(*sites)};
	sites[HOME].resumed = 1;
	struct ctp_thread *loop = tables_thread(&t, 0, LOOP);
	loop->switches = 1;
	loop->wait_since = 9 * S;
	return 0;
}

static int end(void **state)
{
	(void)state;
	results_deinit(&out);
	tables_close(&t);
	return 0;
}

static const struct slice *last_of(uint64_t id)
{
	const struct slice *last = NULL;
	for (const struct slice *s = slices; s < slices + nslices; s++)
		last = s->id == id ? s : last;
	return last && !last->ends ? last : NULL;
}

static void fill_tables(void)
{
	t.image.stations.n = t.image.fds.n = 0;
	for (uint64_t id = RESUMER; id <= RESUMER + USERS; id++) {
		const struct slice *last = last_of(id);
		if (!last)
			continue;
		tables_suspended(&t, id, last->stack, last->at_us * 1000 + MS / 100);
		if (id == RESUMER)
			continue;
		struct ctp_fd *f = tables_fd(&t, (int32_t)(10 + id), 1);
		f->opened_how = CTP_CALL_ACCEPT;
		f->last_in = f->last_out = id;
		f->life = closed ? CTP_FD_CLOSED : CTP_FD_OPEN;
	}
	tables_index(&t);
}

// What is known of the one who waits.
static struct parked_resumer of(uint64_t id)
{
	struct parked_history v[PARKED_PLACINGS];
	fill_tables();
	memset(told, 0, sizeof(told));
	assert_int_equal(parked_history_read(&t.world, &t.image, told, v), 0);
	const struct parked_history *l = &v[PARKED_USUAL];
	struct parked_resumer is = {.waits = id, .place = l->of[WAIT] - 1U};
	assert_true(l->of[WAIT]);
	assert_int_equal(parked_resumer_find(&t.world, l, &is, 1), 0);
	parked_history_deinit(v);
	return is;
}

// This user asks, and the resumer has so many turns until it answers.
static void is_answered(uint64_t id, unsigned turns)
{
	runs(id, WAIT);
	for (unsigned i = 0; i < turns; i++) {
		pause_ms(3);
		runs(RESUMER, HOME);
	}
	runs(id, READ);
	pause_ms(2);
}

// All are answered by the next turn.
static void served(unsigned times)
{
	runs(RESUMER, HOME);
	for (unsigned i = 0; i < USERS; i++)
		runs(FIRST + i, READ);
	for (unsigned i = 0; i < times; i++)
		is_answered(FIRST + i % 2, 1);
}

static void has_had_its_turn(void **state)
{
	(void)state;
	served(RESUMED_LEAST);
	runs(FIRST, WAIT);
	pause_ms(3);
	struct parked_resumer is = of(FIRST);
	assert_int_equal(is.by, RESUMER);
	assert_int_equal(is.stack, HOME);
	assert_int_equal(is.resumed, RESUMED_LEAST);
	assert_int_equal(is.handed, RESUMED_LEAST);
	assert_int_equal(is.least, 1);
	assert_int_equal(is.most, 1);
	assert_int_equal(is.turns, 0);
	assert_false(parked_resumer_is_late(&is)); // its turn may come
	runs(RESUMER, HOME);
	is = of(FIRST);
	assert_int_equal(is.turns, 1);
	assert_true(parked_resumer_is_late(&is));
}

static void few_waits_say_nothing(void **state)
{
	(void)state;
	served(RESUMED_LEAST - 1);
	runs(FIRST, WAIT);
	runs(RESUMER, HOME);
	struct parked_resumer is = of(FIRST);
	assert_int_equal(is.by, RESUMER);
	assert_false(parked_resumer_is_late(&is));
}

static void is_still_at_it(void **state)
{
	(void)state;
	served(RESUMED_LEAST);
	runs(FIRST, WAIT);
	runs(RESUMER, AWAY);
	struct parked_resumer is = of(FIRST);
	assert_false(parked_resumer_is_late(&is));
	runs(RESUMER, HOME);
	is = of(FIRST);
	assert_true(parked_resumer_is_late(&is));
	runs(RESUMER, AWAY); // it has had its turn, and has begun something
	is = of(FIRST);
	assert_false(parked_resumer_is_late(&is));
}

// It has a turn in each wait, but another runs right before some of them end.
static void others_resume_them_too(void **state)
{
	(void)state;
	served(2 * RESUMED_LEAST);
	for (unsigned i = 0; i < RESUMED_LEAST; i++) {
		runs(FIRST, WAIT);
		runs(RESUMER, HOME);
		runs(FIRST + 1, READ);
		runs(FIRST, READ);
	}
	runs(FIRST, WAIT);
	runs(RESUMER, HOME);
	struct parked_resumer is = of(FIRST);
	assert_int_equal(is.by, RESUMER);
	assert_int_equal(is.least, 1);
	assert_false(parked_resumer_is_late(&is));
}

static void takes_several_turns(void **state)
{
	(void)state;
	served(RESUMED_LEAST);
	is_answered(FIRST, 2);
	runs(FIRST, WAIT);
	for (unsigned i = 0; i < 2 * TURNS_TIMES - 1; i++)
		runs(RESUMER, HOME);
	struct parked_resumer is = of(FIRST);
	assert_int_equal(is.most, 2);
	assert_false(parked_resumer_is_late(&is));
	runs(RESUMER, HOME);
	is = of(FIRST);
	assert_true(parked_resumer_is_late(&is));
}

// One wait ended without a turn of its: somebody else resumes them, too.
static void somebody_else(void **state)
{
	(void)state;
	served(4 * RESUMED_LEAST);
	is_answered(FIRST, 0);
	runs(FIRST, WAIT);
	for (unsigned i = 0; i < TURNS_TIMES; i++)
		runs(RESUMER, HOME);
	struct parked_resumer is = of(FIRST);
	assert_int_equal(is.by, RESUMER);
	assert_int_equal(is.least, 0);
	assert_false(parked_resumer_is_late(&is));
}

// It runs often, but others run right before.
static void runs_beside(void **state)
{
	(void)state;
	runs(RESUMER, HOME);
	for (unsigned i = 0; i < USERS; i++)
		runs(FIRST + i, READ);
	for (unsigned i = 0; i < 2 * RESUMED_LEAST; i++) {
		runs(FIRST, WAIT);
		runs(RESUMER, HOME);
		runs(FIRST + 1, READ);
		runs(FIRST, READ);
	}
	runs(FIRST, WAIT);
	runs(RESUMER, HOME);
	struct parked_resumer is = of(FIRST);
	assert_int_not_equal(is.by, RESUMER);
}

// Nor is it who ran a while before.
static void is_not_soon(void **state)
{
	(void)state;
	runs(RESUMER, HOME);
	runs(FIRST, READ);
	for (unsigned i = 0; i < 2 * RESUMED_LEAST; i++) {
		runs(FIRST, WAIT);
		runs(RESUMER, HOME);
		pause_ms(3);
		runs(FIRST, READ);
	}
	runs(FIRST, WAIT);
	runs(RESUMER, HOME);
	struct parked_resumer is = of(FIRST);
	assert_int_equal(is.by, 0);
}

// Those who are told together run one after the other.
static void tells_all(void **state)
{
	(void)state;
	served(0);
	for (unsigned i = 0; i < RESUMED_LEAST; i++) {
		for (unsigned k = 0; k < USERS; k++)
			runs(FIRST + k, WAIT);
		pause_ms(3);
		runs(RESUMER, HOME);
		for (unsigned k = 0; k < USERS; k++)
			runs(FIRST + k, READ);
		pause_ms(1);
	}
	runs(FIRST, WAIT);
	runs(RESUMER, HOME);
	struct parked_resumer is = of(FIRST);
	assert_int_equal(is.by, RESUMER);
	assert_int_equal(is.handed, RESUMED_LEAST * USERS);
	assert_true(parked_resumer_is_late(&is));
}

// It runs before each of them.
static void the_scheduler_is_nobody(void **state)
{
	(void)state;
	const uint64_t scheduler = FIRST + USERS - 1;
	runs(RESUMER, HOME);
	runs(scheduler, READ);
	for (unsigned i = 0; i < RESUMED_LEAST; i++) {
		runs(FIRST, WAIT);
		runs(scheduler, READ);
		runs(RESUMER, HOME);
		runs(scheduler, READ);
		runs(FIRST, READ);
	}
	runs(FIRST, WAIT);
	runs(RESUMER, HOME);
	struct parked_history v[PARKED_PLACINGS];
	fill_tables();
	for (size_t i = 0; i < t.image.stations.n; i++)
		t.states[i].s.life = t.states[i].s.id == scheduler ? CTP_RUNNING : t.states[i].s.life;
	memset(told, 0, sizeof(told));
	assert_int_equal(parked_history_read(&t.world, &t.image, told, v), 0);
	struct parked_resumer is = {.waits = FIRST, .place = v[PARKED_USUAL].of[WAIT] - 1U};
	assert_int_equal(parked_resumer_find(&t.world, &v[PARKED_USUAL], &is, 1), 0);
	assert_int_equal(is.by, RESUMER);
	parked_history_deinit(v);
}

// ------------------------------------------------------------- one that has ended

static size_t left(void)
{
	struct parked_history v[PARKED_PLACINGS];
	results_deinit(&out);
	out = (struct results){0};
	fill_tables();
	memset(told, 0, sizeof(told));
	assert_int_equal(parked_history_read(&t.world, &t.image, told, v), 0);
	assert_int_equal(parked_gone(pass_find("CTP003"), &t.world, v, told, &out), 0);
	parked_history_deinit(v);
	return out.ncases;
}

// It tells this user of so many news.
static void tells(uint64_t id, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		runs(id, WAIT);
		pause_ms(3);
		runs(RESUMER, HOME);
		runs(id, READ);
	}
	runs(id, WAIT);
}

static void begins_early(void)
{
	now_us = 10000;
	runs(RESUMER, HOME);
	now_us = 20000;
}

static void has_ended(void)
{
	runs(RESUMER, 0);
	slices[nslices - 1].ends = true;
}

static void publisher_has_ended(void **state)
{
	(void)state;
	begins_early();
	tells(FIRST, ALL_LEAST);
	assert_int_equal(left(), 0);
	has_ended();
	assert_int_equal(left(), 1);
	assert_int_equal(out.cases[0].id, FIRST);
	assert_int_equal(out.cases[0].actor.id, RESUMER);
	assert_non_null(strstr(out.cases[0].message, "coroutine 4 had run, which has ended"));
	closed = true; // it has no client any more
	assert_int_equal(left(), 0);
}

static void publisher_is_kept(void **state)
{
	(void)state;
	begins_early();
	tells(FIRST, ALL_LEAST);
	runs(RESUMER, DONE);
	assert_int_equal(left(), 1);
	assert_non_null(strstr(out.cases[0].message, "is suspended where none was ever resumed"));
	sites[DONE].resumed = 1;
	assert_int_equal(left(), 0);
}

static void a_client_left(void **state)
{
	(void)state;
	begins_early();
	accepted_ms = 5; // it may be a client's
	tells(FIRST, ALL_LEAST);
	has_ended();
	assert_int_equal(left(), 0);
}

static void few_news(void **state)
{
	(void)state;
	begins_early();
	tells(FIRST, ALL_LEAST - 1);
	has_ended();
	assert_int_equal(left(), 0);
	nslices = 0;
	begins_early();
	tells(FIRST, ALL_LEAST - OWN_LEAST);
	tells(FIRST + 1, OWN_LEAST);
	has_ended();
	assert_int_equal(left(), 2);
	nslices = 0;
	begins_early();
	tells(FIRST, ALL_LEAST);
	tells(FIRST + 1, OWN_LEAST - 1);
	has_ended();
	assert_int_equal(left(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(has_had_its_turn, begin, end),
		cmocka_unit_test_setup_teardown(few_waits_say_nothing, begin, end),
		cmocka_unit_test_setup_teardown(is_still_at_it, begin, end),
		cmocka_unit_test_setup_teardown(others_resume_them_too, begin, end),
		cmocka_unit_test_setup_teardown(takes_several_turns, begin, end),
		cmocka_unit_test_setup_teardown(somebody_else, begin, end),
		cmocka_unit_test_setup_teardown(runs_beside, begin, end),
		cmocka_unit_test_setup_teardown(is_not_soon, begin, end),
		cmocka_unit_test_setup_teardown(tells_all, begin, end),
		cmocka_unit_test_setup_teardown(the_scheduler_is_nobody, begin, end),
		cmocka_unit_test_setup_teardown(publisher_has_ended, begin, end),
		cmocka_unit_test_setup_teardown(publisher_is_kept, begin, end),
		cmocka_unit_test_setup_teardown(a_client_left, begin, end),
		cmocka_unit_test_setup_teardown(few_news, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
