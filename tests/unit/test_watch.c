// SPDX-License-Identifier: MIT
//
// ctp-ps --watch without a process and without a terminal: rates between looks, the order
// of the list, what keys do, and pages of every size.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "ps/watch/watch_keys.h"

#define SECOND 1000000000ULL

// ---------------------------------------------------------------------- model

static struct ctp_state state_of(uint64_t id, uint64_t changes, enum ctp_life life)
{
	struct ctp_state s = { .id = id, .owner = CTP_OWNER_GUEST, .entity = CTP_COROUTINE, .entry = 0x1000, .stack = 7 };
	s.changes = changes;
	s.life = life;
	return s;
}

static void take(struct watch_model *m, size_t station, struct ctp_state s, uint64_t since)
{
	if (!watch_model_same(m, station, s.turn, s.id))
		watch_model_take(m, station, &s, since, true);
}

static void rates_are_the_difference_of_two_looks(void **state)
{
	struct watch_model m = { 0 };
	assert_int_equal(watch_model_begin(&m, 4, 10 * SECOND), 0);
	take(&m, 0, state_of(1, 100, CTP_SUSPENDED), 5 * SECOND);
	take(&m, 1, state_of(2, 8, CTP_SUSPENDED), 6 * SECOND);
	take(&m, 2, state_of(3, 0, CTP_CREATED), 7 * SECOND);
	watch_model_end(&m, 10 * SECOND, NULL, 0, true);
	assert_int_equal(m.count, 3);
	assert_true(m.rows[0].rate < 0); // one look says nothing of rates
	assert_int_equal(watch_model_begin(&m, 5, 12 * SECOND), 0);
	take(&m, 0, state_of(1, 140, CTP_SUSPENDED), 12 * SECOND);
	take(&m, 1, state_of(2, 8, CTP_SUSPENDED), 6 * SECOND);
	take(&m, 2, state_of(9, 6, CTP_SUSPENDED), 11 * SECOND); // another one stands there
	take(&m, 4, state_of(10, 1, CTP_RUNNING), 9 * SECOND);
	watch_model_end(&m, 13 * SECOND, &(struct watch_ran){ .id = 10, .cpu_ns = SECOND, .slice_ns = SECOND / 2 }, 1, true);
	assert_int_equal(m.count, 4);
	assert_int_equal(m.suspended, 3);
	assert_int_equal(m.running, 1);
	assert_float_equal(m.rows[0].rate, 10, 0.001); // 40 changes are 20 switches, in two seconds
	assert_float_equal(m.rows[1].rate, 0, 0.001);
	assert_true(m.rows[2].rate < 0);
	assert_float_equal(m.rows[4].cpu, 0.5, 0.001);
	assert_int_equal(m.rows[4].slice_ns, 4 * SECOND); // it runs since then, without a switch
	assert_int_equal(m.rows[1].slice_ns, 0);
	assert_int_equal(watch_model_age(&m, &m.rows[1]), 7 * SECOND);
	assert_ptr_equal(watch_model_find(&m, 9), &m.rows[2]);
	assert_null(watch_model_find(&m, 3));
	watch_model_deinit(&m);
}

static void what_ended_is_not_there(void **state)
{
	struct watch_model m = { 0 };
	struct ctp_state native = state_of(5, 3, CTP_RUNNING), probe = state_of(6, 3, CTP_SUSPENDED);
	native.entity = CTP_NATIVE;
	probe.owner = CTP_OWNER_V1;
	assert_int_equal(watch_model_begin(&m, 3, SECOND), 0);
	take(&m, 0, state_of(1, 4, CTP_SUSPENDED), 1);
	take(&m, 1, native, 1);
	take(&m, 2, probe, 1);
	watch_model_end(&m, SECOND, NULL, 0, false);
	assert_int_equal(m.count, 1);
	assert_true(m.rows[0].cpu < 0);
	assert_int_equal(watch_model_begin(&m, 3, 2 * SECOND), 0);
	take(&m, 0, state_of(1, 5, CTP_FINISHED), 1);
	watch_model_end(&m, 2 * SECOND, NULL, 0, false);
	assert_int_equal(m.count, 0);
	assert_true(watch_model_same(&m, 0, state_of(1, 5, CTP_FINISHED).turn, 1)); // not copied again and again
	watch_model_deinit(&m);
}

static void the_stack_it_left_with_stays_its_name(void **state)
{
	struct watch_model m = { 0 };
	watch_model_begin(&m, 1, SECOND);
	take(&m, 0, state_of(1, 2, CTP_SUSPENDED), 1);
	assert_int_equal(m.rows[0].c.recorded, 7);
	watch_model_begin(&m, 1, 2 * SECOND);
	take(&m, 0, state_of(1, 3, CTP_RUNNING), 1);
	assert_int_equal(m.rows[0].c.recorded, 0);
	assert_int_equal(m.rows[0].stack, 7);
	watch_model_deinit(&m);
}

// ---------------------------------------------------------------------- order

static struct watch_row row_of(uint64_t id, uint64_t entry, uint32_t stack, uint64_t since, float rate)
{
	return (struct watch_row){ .c = { .id = id, .entry = entry, .recorded = stack, .life = CTP_SUSPENDED }, .there = true,
				   .since = since, .rate = rate, .cpu = -1 };
}

static uint32_t rank(void *arg, const struct watch_row *r)
{
	return (uint32_t)r->c.entry;
}

static uint32_t rank_place(void *arg, const struct watch_row *r)
{
	return r->c.recorded;
}

static void need_ids(const struct watch_order *o, const struct watch_model *m, const char *want)
{
	char got[256] = "";
	for (size_t i = 0; i < o->n; i++)
		sprintf(got + strlen(got), "%s%d", i ? " " : "", (int)m->rows[o->items[i].row].c.id);
	assert_string_equal(got, want);
}

static void sorted_by_each_column(void **state)
{
	struct watch_row rows[] = { row_of(4, 2, 1, 50, 0), row_of(2, 1, 1, 40, 3), row_of(3, 2, 2, 30, -1), { .there = false },
				    row_of(300, 1, 1, 20, 0) };
	struct watch_model m = { .rows = rows, .n = 5 };
	struct watch_order o = { 0 };
	struct watch_wish w = { .rank = rank, .rank_place = rank_place };
	rows[0].c.nwaits = rows[1].c.nwaits = 1;
	rows[0].c.waits[0].fd = 9;
	rows[1].c.waits[0].fd = 8;
	rows[4].c.life = CTP_RUNNING;
	rows[2].slice_ns = 5;
	rows[4].cpu = 0.5f;
	static const struct {
		enum watch_column column;
		bool reverse;
		const char *want;
	} all[] = { { WATCH_ID, false, "2 3 4 300" },      { WATCH_ID, true, "300 4 3 2" },     { WATCH_ENTRY, false, "300 2 3 4" },
		    { WATCH_STATE, false, "300 3 2 4" },   { WATCH_WAITS, false, "2 4 300 3" }, { WATCH_SINCE, false, "300 3 2 4" },
		    { WATCH_RATE, false, "2 300 4 3" },    { WATCH_CPU, false, "300 3 2 4" },   { WATCH_SLICE, false, "3 300 2 4" },
		    { WATCH_RATE, true, "3 4 300 2" },   { WATCH_WHERE, false, "300 2 4 3" } };
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		w.column = all[i].column;
		w.reverse = all[i].reverse;
		assert_int_equal(watch_order_make(&o, &m, &w), 0);
		need_ids(&o, &m, all[i].want);
	}
	rows[0].finding = true; // what is found comes first
	w = (struct watch_wish){ .column = WATCH_STATE, .rank = rank };
	assert_int_equal(watch_order_make(&o, &m, &w), 0);
	need_ids(&o, &m, "4 300 3 2");
	assert_int_equal(watch_order_place(&o, &m, 300), 1);
	assert_int_equal(watch_order_place(&o, &m, 77), o.n);
	watch_order_deinit(&o);
}

static bool is_odd(void *arg, const struct watch_row *r)
{
	return r->c.id & 1;
}

static void grouped_by_function_state_and_stack(void **state)
{
	struct watch_row rows[] = { row_of(1, 1, 1, 50, 1), row_of(2, 1, 1, 40, 2), row_of(3, 1, 2, 30, -1), row_of(4, 1, 1, 60, -1),
				    row_of(5, 2, 1, 20, 0), row_of(6, 1, 1, 10, 0) };
	struct watch_model m = { .rows = rows, .n = 6 };
	struct watch_order o = { 0 };
	struct watch_wish w = { .grouped = true, .column = WATCH_ID, .rank = rank };
	rows[5].closed = true;
	assert_int_equal(watch_order_make(&o, &m, &w), 0);
	assert_int_equal(o.n, 4);
	assert_int_equal(o.items[0].n, 3); // the largest first
	assert_int_equal(rows[o.items[0].row].c.id, 2); // the one that has been so for longest
	assert_float_equal(o.items[0].rate, 3, 0.001);
	w = (struct watch_wish){ .only = &rows[0], .column = WATCH_ID, .rank = rank };
	assert_int_equal(watch_order_make(&o, &m, &w), 0);
	need_ids(&o, &m, "1 2 4");
	w.only = NULL;
	w.listed = is_odd;
	assert_int_equal(watch_order_make(&o, &m, &w), 0);
	need_ids(&o, &m, "1 3 5");
	watch_order_deinit(&o);
}

static void a_great_many_in_order(void **state)
{
	enum { MANY = 70000 };
	struct watch_model m = { .rows = calloc(MANY, sizeof(*m.rows)), .n = MANY };
	struct watch_order o = { 0 };
	struct watch_wish w = { .column = WATCH_SINCE, .rank = rank };
	srandom(5);
	for (size_t i = 0; i < MANY; i++)
		m.rows[i] = row_of(i + 1, 1, 1, (uint64_t)random() << 20 | (uint64_t)random() % 4, 0);
	assert_int_equal(watch_order_make(&o, &m, &w), 0);
	assert_int_equal(o.n, MANY);
	for (size_t i = 1; i < MANY; i++) {
		const struct watch_row *a = &m.rows[o.items[i - 1].row], *b = &m.rows[o.items[i].row];
		assert_true(a->since < b->since || (a->since == b->since && a->c.id < b->c.id));
	}
	watch_order_deinit(&o);
	free(m.rows);
}

// ----------------------------------------------------------------------- keys

static void typed(struct watch_ui *ui, const char *text)
{
	for (; *text; text++)
		watch_keys_press(ui, *text, 100, 10);
}

static void the_cursor_stays_inside(void **state)
{
	struct watch_ui ui = { 0 };
	assert_int_equal(watch_keys_press(&ui, WATCH_KEY_UP, 100, 10), WATCH_DID_MOVE);
	assert_int_equal(ui.cursor, 0);
	watch_keys_press(&ui, WATCH_KEY_PAGE_DOWN, 100, 10);
	assert_int_equal(ui.cursor, 10);
	assert_int_equal(ui.top, 1);
	assert_true(ui.held);
	watch_keys_press(&ui, WATCH_KEY_END, 100, 10);
	assert_int_equal(ui.cursor, 99);
	assert_int_equal(ui.top, 90);
	watch_keys_press(&ui, WATCH_KEY_RESIZE, 100, 40);
	assert_int_equal(ui.top, 60);
	watch_keys_press(&ui, WATCH_KEY_DOWN, 3, 40); // there are fewer now
	assert_int_equal(ui.cursor, 2);
	assert_int_equal(ui.top, 0);
	watch_keys_press(&ui, WATCH_KEY_DOWN, 0, 40);
	assert_int_equal(ui.cursor, 0);
	watch_keys_press(&ui, WATCH_KEY_HOME, 100, 10);
	assert_false(ui.held);
	assert_int_equal(watch_keys_press(&ui, WATCH_KEY_ENTER, 100, 10), WATCH_DID_ENTER);
	assert_int_equal(watch_keys_press(&ui, WATCH_KEY_ENTER, 0, 10), WATCH_DID_NOTHING);
}

static void columns_to_sort_by(void **state)
{
	struct watch_ui ui = { .column = WATCH_SINCE, .reverse = true };
	assert_int_equal(watch_keys_press(&ui, '>', 1, 1), WATCH_DID_SORT);
	assert_int_equal(ui.column, WATCH_RATE);
	assert_false(ui.reverse);
	typed(&ui, ">>>>>");
	assert_int_equal(ui.column, WATCH_SLICE); // not by what is not known of all
	typed(&ui, "<<<<<<<<<<");
	assert_int_equal(ui.column, WATCH_ID);
	typed(&ui, "P");
	assert_int_equal(ui.column, WATCH_CPU);
	assert_int_equal(watch_keys_press(&ui, 'r', 1, 1), WATCH_DID_SORT);
	assert_true(ui.reverse);
	assert_int_equal(watch_keys_press(&ui, 0x1234567, 1, 1), WATCH_DID_NOTHING);
}

static void text_to_look_for(void **state)
{
	struct watch_ui ui = { 0 };
	typed(&ui, "/qrx");
	watch_keys_press(&ui, WATCH_KEY_ERASE, 1, 1);
	assert_string_equal(ui.typed, "qr");
	assert_string_equal(ui.text, "");
	assert_int_equal(watch_keys_press(&ui, WATCH_KEY_ENTER, 1, 1), WATCH_DID_SORT);
	assert_string_equal(ui.text, "qr");
	typed(&ui, "/zz");
	watch_keys_press(&ui, WATCH_KEY_ESCAPE, 1, 1); // what was before stays
	assert_string_equal(ui.text, "qr");
	assert_int_equal(watch_keys_press(&ui, WATCH_KEY_ESCAPE, 1, 1), WATCH_DID_SORT);
	assert_string_equal(ui.text, "");
	assert_int_equal(watch_keys_press(&ui, WATCH_KEY_ESCAPE, 1, 1), WATCH_DID_QUIT);
	typed(&ui, "/");
	for (int i = 0; i < 1000; i++)
		typed(&ui, "x");
	assert_int_equal(strlen(ui.typed), sizeof(ui.typed) - 1);
	watch_keys_press(&ui, WATCH_KEY_ESCAPE, 1, 1);
	typed(&ui, "/\xc3\xa9");
	watch_keys_press(&ui, WATCH_KEY_ERASE, 1, 1); // one character of two bytes
	assert_string_equal(ui.typed, "");
}

static void pace_and_pause(void **state)
{
	struct watch_ui ui = { .delay_ns = SECOND };
	typed(&ui, "+");
	assert_int_equal(ui.delay_ns, 2 * SECOND);
	typed(&ui, "-----------");
	assert_int_equal(ui.delay_ns, SECOND / 10);
	typed(&ui, "d2.5");
	watch_keys_press(&ui, WATCH_KEY_ENTER, 1, 1);
	assert_int_equal(ui.delay_ns, 5 * SECOND / 2);
	typed(&ui, "dnan");
	watch_keys_press(&ui, WATCH_KEY_ENTER, 1, 1);
	typed(&ui, "d");
	watch_keys_press(&ui, WATCH_KEY_ENTER, 1, 1);
	assert_int_equal(ui.delay_ns, 5 * SECOND / 2);
	typed(&ui, " ");
	assert_true(ui.paused);
	typed(&ui, "?");
	assert_int_equal(ui.mode, WATCH_HELP);
	assert_int_equal(watch_keys_press(&ui, 'q', 50, 10), WATCH_DID_SORT);
	assert_int_equal(ui.mode, WATCH_LIST);
	assert_int_equal(watch_keys_press(&ui, 'q', 50, 10), WATCH_DID_QUIT);
}

static void out_of_one_group(void **state)
{
	static const int keys[] = { 'q', WATCH_KEY_ESCAPE };
	for (int i = 0; i < 2; i++) {
		struct watch_ui ui = { .only = true, .text = "abc" };
		assert_int_equal(watch_keys_press(&ui, keys[i], 5, 10), WATCH_DID_SORT);
		assert_true(ui.grouped && !ui.only);
		assert_string_equal(ui.text, "abc");
	}
}

// ----------------------------------------------------------------------- pages

static const struct watch_shown some[] = {
	{ .id = 41, .n = 3, .entry = "conn_reader", .state = "suspended", .where = "read_request http.c:64", .waits = "7#3 IN", .since_ns = 312 * SECOND, .rate = 12.5f,
	  .cpu = 0.031f, .slice_ns = 1200000, .stack = 5 << 10 },
	{ .id = 1234567, .n = 1, .entry = "a_function_with_a_name_that_is_far_too_long_for_any_column_of_a_narrow_terminal",
	  .state = "closed", .where = "-", .waits = "1234#12 IN|OUT|RDHUP|ERR|HUP, 1235#1 IN", .since_ns = 999900000, .rate = -1, .cpu = -1, .stack = -1,
	  .closed = true, .proof = true },
};
static const struct watch_head head = {
	.pid = 4711, .engine = 4710, .command = "./server --port=80", .created = 3, .suspended = 99990, .running = 7, .finished = 12,
	.destroyed = 2, .threads = 4, .rate = 1234567, .cpu = 3.12, .lost = 5, .look_ns = 12000000, .pace_ns = SECOND, .clock = "12:00:01",
	.trace = true, .closed = 1, .rules = { { "CTP001", 2, 1 } }, .nrules = 1,
};

static bool page_has(const struct watch_page *p, const char *text)
{
	for (size_t i = 0; i < p->n; i++)
		if (strstr(p->lines[i].text, text))
			return true;
	return false;
}

static void a_list_of_the_usual_size(void **state)
{
	static const char *const want[] = { "pid 4711  ./server --port=80", "100000 coroutines:", "99990 suspended, 3 created, 7 running",
					    "ended: 14 (2 destroyed)", "1.2M switches/s", "CPU 312%", "5 lost", "ctp-run 4710",
					    "CTP001: 2, 1 proven so far; 1 wait on a closed fd", "SW/Sv", "conn_reader", "7#3 IN", "5m12s", "read_request http.c:64",
					    " 12 ", " 3.1 ", "1.2 ms", " 5.0K", "closed!", "? help" };
	struct watch_page p = { .utf8 = true };
	struct watch_ui ui = { .column = WATCH_RATE, .delay_ns = SECOND };
	watch_view_list(&p, &ui, &head, some, 2, 2, (struct watch_size){ 24, 120 });
	assert_int_equal(p.n, 24);
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++)
		if (!page_has(&p, want[i]))
			fail_msg("no %s", want[i]);
	assert_int_equal(p.lines[5].runs[0].style, WATCH_CURSOR);
	assert_int_equal(p.lines[6].runs[0].style, WATCH_ALARM);
	watch_view_list(&p, &ui, &head, some, 2, 2, (struct watch_size){ 24, 80 });
	assert_true(page_has(&p, "WHERE") && page_has(&p, "read_request http.c:64") && page_has(&p, "7#3 IN"));
	ui.grouped = true; // members have a descriptor each: none is shown
	watch_view_list(&p, &ui, &head, some, 2, 2, (struct watch_size){ 24, 80 });
	assert_true(page_has(&p, "read_request http.c:64") && page_has(&p, "CPU%") && !page_has(&p, "7#3 IN"));
	watch_page_deinit(&p);
}

static void what_is_said_when_it_is_so(void **state)
{
	struct watch_page p = { .utf8 = true };
	struct watch_ui ui = { .delay_ns = SECOND, .paused = true, .text = "abc", .grouped = true };
	struct watch_head h = head;
	const struct watch_size s = { 24, 100 };
	h.engine = 0;
	h.trace = false;
	h.closed = h.nrules = 0;
	watch_view_list(&p, &ui, &h, some, 0, 0, s);
	assert_true(page_has(&p, "ctp-run is gone") && page_has(&p, "PAUSED") && page_has(&p, "[/abc]") && page_has(&p, "none of them"));
	assert_true(page_has(&p, "nobody writes them") && page_has(&p, "Nv"));
	ui = (struct watch_ui){ .delay_ns = SECOND, .typing = WATCH_TYPING_TEXT, .typed = "xyz" };
	h.trace = true;
	h.pace_ns = 5 * SECOND;
	watch_view_list(&p, &ui, &h, some, 1, 1, s);
	assert_true(page_has(&p, "every 5.0 s (a refresh takes long)") && page_has(&p, "no findings so far") && page_has(&p, "look for: xyz_"));
	h.ended = "has ended";
	watch_view_list(&p, &ui, &h, some, 1, 1, s);
	assert_true(page_has(&p, "has ended - the last picture") && !page_has(&p, "every"));
	watch_page_deinit(&p);
}

static void no_page_is_larger_than_the_screen(void **state)
{
	struct watch_page p = { .utf8 = true }, text = { .utf8 = true };
	const struct watch_choice choices[3] = { { .pid = 1, .command = "one" }, { .pid = 2, .command = "two" }, { .pid = 3 } };
	watch_help_page(&text);
	for (size_t lines = 1; lines < 40; lines++)
		for (size_t columns = 1; columns < 140; columns++) {
			const struct watch_size s = { lines, columns };
			for (int mode = WATCH_LIST; mode <= WATCH_PICK; mode++) {
				struct watch_ui ui = { .mode = mode };
				size_t room = watch_view_room(&ui, s), n = room < 2 ? room : 2;
				if (mode == WATCH_LIST)
					watch_view_list(&p, &ui, &head, some, n, 2, s);
				else if (mode == WATCH_PICK)
					watch_view_pick(&p, &ui, choices, 3, s);
				else
					watch_view_text(&p, &ui, &head, &text, "keys", s);
				assert_true(p.n >= 1 && p.n <= lines + (lines == 1)); // one line of it, and the next is cut off
			}
		}
	for (size_t i = 0; i < text.n; i++)
		assert_true(text_width(text.lines[i].text) <= 80);
	watch_page_deinit(&p);
	watch_page_deinit(&text);
}

static void titles_stand_above_their_columns(void **state)
{
	struct watch_page p = { .utf8 = true };
	struct watch_ui ui = { .cursor = 1, .column = WATCH_RATE };
	for (size_t columns = 20; columns < 200; columns++) {
		watch_view_list(&p, &ui, &head, some, 2, 2, (struct watch_size){ 24, columns });
		const char *titles = p.lines[4].text, *cells = p.lines[5].text, *since = strstr(titles, "SINCE");
		assert_true(text_width(cells) <= columns);
		assert_int_equal(text_width(titles), columns);
		assert_non_null(strstr(titles, "ENTRY"));
		assert_memory_equal(cells + (strstr(titles, "ENTRY") - titles), "conn_rea", 8);
		if (since)
			assert_memory_equal(cells + (since - titles), "5m12s", 5);
	}
	watch_page_deinit(&p);
}

static void nothing_steers_the_terminal(void **state)
{
	struct watch_page p = { .utf8 = true };
	watch_page_line(&p);
	watch_page_put(&p, WATCH_PLAIN, "a\033[31m\tb\xc2\x9b" "c\xc3\xa9");
	assert_string_equal(p.lines[0].text, "a?[31m?b??c\xc3\xa9");
	p.utf8 = false;
	watch_page_line(&p);
	watch_page_put(&p, WATCH_PLAIN, "\xc3\xa9");
	assert_string_equal(p.lines[1].text, "??");
	watch_page_line(&p);
	for (int i = 0; i < 300; i++)
		watch_page_put(&p, i % 2 ? WATCH_BOLD : WATCH_PLAIN, "0123456789");
	assert_int_equal(p.lines[2].bytes, WATCH_LINE_BYTES - 1);
	watch_page_deinit(&p);
}

static void text_in_columns(void **state)
{
	struct watch_page p = { .utf8 = true };
	assert_int_equal(watch_page_fit("a\xc3\xa9z", 2), 3);
	assert_int_equal(watch_page_fit("abc", 9), 3);
	watch_page_line(&p);
	watch_page_cell(&p, WATCH_PLAIN, "\xc3\xa9", 3, true);
	watch_page_cell(&p, WATCH_PLAIN, "long", 2, false);
	watch_page_cell(&p, WATCH_PLAIN, "x", 3, false);
	assert_string_equal(p.lines[0].text, "  \xc3\xa9lox  ");
	watch_page_line(&p);
	watch_page_put(&p, WATCH_PLAIN, "  - ");
	watch_page_words(&p, WATCH_PLAIN, "one two three", 4, 12);
	assert_string_equal(p.lines[1].text, "  - one two ");
	assert_string_equal(p.lines[2].text, "    three");
	watch_page_deinit(&p);
}

static void numbers_in_five_columns(void **state)
{
	static const struct {
		double v;
		const char *want;
	} all[] = { { -1, "-" }, { 0, "0" }, { 0.5, "0.5" }, { 3, "3" }, { 12.34, "12" }, { 999, "999" }, { 999.7, "1.0k" },
		    { 45000, "45k" }, { 1234567, "1.2M" }, { 5e12, "5.0T" } };
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		char text[16];
		watch_view_number(text, sizeof(text), all[i].v);
		assert_string_equal(text, all[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_are_the_difference_of_two_looks),
		cmocka_unit_test(what_ended_is_not_there),
		cmocka_unit_test(the_stack_it_left_with_stays_its_name),
		cmocka_unit_test(sorted_by_each_column),
		cmocka_unit_test(grouped_by_function_state_and_stack),
		cmocka_unit_test(a_great_many_in_order),
		cmocka_unit_test(the_cursor_stays_inside),
		cmocka_unit_test(columns_to_sort_by),
		cmocka_unit_test(text_to_look_for),
		cmocka_unit_test(pace_and_pause),
		cmocka_unit_test(out_of_one_group),
		cmocka_unit_test(a_list_of_the_usual_size),
		cmocka_unit_test(what_is_said_when_it_is_so),
		cmocka_unit_test(no_page_is_larger_than_the_screen),
		cmocka_unit_test(titles_stand_above_their_columns),
		cmocka_unit_test(nothing_steers_the_terminal),
		cmocka_unit_test(text_in_columns),
		cmocka_unit_test(numbers_in_five_columns),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
