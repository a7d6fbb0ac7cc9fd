// SPDX-License-Identifier: MIT
//
// The golden regions of spec/vectors, written from the specification's words
// alone, read through ctp.h: version-1 slots (laps, a torn one), present states,
// records, an incident, the note of a crash, and names.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "ctp/record.h"
#include "ctp/seq.h"
#include "ctp/tables.h"

static size_t load(const char *name, void **blob, json_t **expect)
{
	char path[4096];
	json_error_t err;
	snprintf(path, sizeof(path), "%s/%s.bin", VECTORS, name);
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	size_t n = (size_t)ftell(f);
	rewind(f);
	*blob = aligned_alloc(64, (n + 63) & ~(size_t)63);
	assert_int_equal(fread(*blob, 1, n, f), n);
	fclose(f);
	snprintf(path, sizeof(path), "%s/%s.json", VECTORS, name);
	*expect = json_load_file(path, 0, &err);
	assert_non_null(*expect);
	return n;
}

static uint64_t number(const json_t *o, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(o, key));
}

static uint64_t cell(const json_t *rows, size_t row, size_t column)
{
	return (uint64_t)json_integer_value(json_array_get(json_array_get(rows, row), column));
}

static void version1(void **state)
{
	(void)state;
	void *blob;
	json_t *expect;
	size_t bytes = load("version1", &blob, &expect), seen = 0;
	const struct ctp_header *h = blob;
	const struct ctp_station *st = (const void *)((char *)blob + CTP_HEADER_BYTES);
	json_t *events = json_object_get(expect, "events");
	assert_true(h->magic == CTP_MAGIC && h->version == CTP_VERSION);
	assert_int_equal(bytes, CTP_HEADER_BYTES + h->max_stations * CTP_STATION_BYTES);
	assert_int_equal(h->allocated_count, number(expect, "allocated"));
	for (size_t e = 0; e < json_array_size(events); e++) {
		const struct ctp_station *s = &st[cell(events, e, 0)];
		uint64_t n = cell(events, e, 1);
		struct ctp_slot out;
		assert_int_equal(ctp_slot_read(s->slots, (unsigned)((n - 1) % CTP_SLOTS), 0, &out), n);
		assert_int_equal(out.timestamp_ns, cell(events, e, 2));
		assert_int_equal(out.tid, cell(events, e, 3));
		assert_int_equal(out.addr, cell(events, e, 4));
		assert_int_equal(out.is_active, cell(events, e, 5));
	}
	for (uint32_t i = 0; i < h->allocated_count; i++)
		for (unsigned k = 0; k < CTP_SLOTS; k++) {
			struct ctp_slot out;
			seen += ctp_slot_read(st[i].slots, k, 0, &out) != 0;
		}
	assert_int_equal(seen, json_array_size(events)); // and no more: the torn slot is not read
	json_decref(expect);
	free(blob);
}

static void present_state(void **state)
{
	(void)state;
	void *blob;
	json_t *x;
	load("state", &blob, &x);
	const struct ctp_state *rows = blob;
	struct ctp_state s;
	assert_true(ctp_state_read(&rows[0], &s));
	assert_int_equal(s.owner, CTP_OWNER_GUEST);
	assert_int_equal(s.id, number(x, "id"));
	assert_int_equal(s.entity, number(x, "entity"));
	assert_int_equal(s.life, number(x, "life"));
	assert_int_equal(s.how, number(x, "how"));
	assert_int_equal(s.changes, number(x, "changes"));
	assert_int_equal(s.since, number(x, "since"));
	assert_int_equal(s.stack, number(x, "stack"));
	assert_int_equal(s.nwaits, number(x, "nwaits"));
	assert_int_equal(s.flags, number(x, "flags"));
	assert_int_equal(s.slot, number(x, "slot"));
	assert_int_equal(s.lo, number(x, "lo"));
	assert_int_equal(s.hi, number(x, "hi"));
	assert_int_equal(s.entry, number(x, "entry"));
	assert_int_equal(s.source, number(x, "source"));
	assert_int_equal(s.function, number(x, "function"));
	for (size_t i = 0; i < CTP_REGS; i++)
		assert_int_equal(s.regs[i], json_integer_value(json_array_get(json_object_get(x, "regs"), i)));
	json_t *w = json_object_get(x, "wait");
	assert_int_equal(s.waits[0].fd, number(w, "fd"));
	assert_int_equal(s.waits[0].gen, number(w, "gen"));
	assert_int_equal(s.waits[0].events, number(w, "events"));
	assert_int_equal(s.waits[0].how, number(w, "how"));
	assert_int_equal(s.waits[0].data, number(w, "data"));
	assert_int_equal(s.waits[0].epfd, number(w, "epfd"));
	assert_false(ctp_state_read(&rows[1], &s));
	json_decref(x);
	free(blob);
}

static void records(void **state)
{
	(void)state;
	void *blob;
	json_t *x;
	size_t bytes = load("records", &blob, &x);
	json_t *rows = json_object_get(x, "records"), *values = json_object_get(x, "values");
	const struct ctp_record *r = blob;
	struct ctp_cursor c = {.near = 0, .native = 2, .current = 5, .n = 2};
	size_t at = 0, slots = bytes / sizeof(*r);
	for (size_t i = 0; i < json_array_size(rows); i++) {
		struct ctp_event e;
		unsigned took = ctp_record_read(&c, r + at, slots - at, &e);
		assert_int_not_equal(took, 0);
		assert_int_equal(e.time, cell(rows, i, 0));
		assert_int_equal(e.kind, cell(rows, i, 1));
		assert_int_equal(e.how, cell(rows, i, 2));
		assert_int_equal(e.a, cell(rows, i, 3));
		assert_int_equal(e.b, cell(rows, i, 4));
		assert_int_equal(e.stack, cell(rows, i, 5));
		assert_int_equal(e.a_n, cell(rows, i, 6));
		assert_int_equal(e.b_n, cell(rows, i, 7));
		if (json_is_integer(json_array_get(values, i)))
			assert_int_equal(e.value, json_integer_value(json_array_get(values, i)));
		at += took;
	}
	assert_int_equal(at, slots);
	json_decref(x);
	free(blob);
}

#define SAME(x, row, field) assert_int_equal((int64_t)(row)->field, json_integer_value(json_object_get(x, #field)))

static void incident(void **state)
{
	(void)state;
	void *blob;
	json_t *x;
	assert_int_equal(load("incident", &blob, &x), sizeof(struct ctp_incident));
	const struct ctp_incident *i = blob;
	assert_int_equal(i->ready, CTP_CAND_READY);
	assert_int_equal(i->flags, CTP_BAD_IO);
	SAME(x, i, ready);
	SAME(x, i, rule);
	SAME(x, i, flags);
	SAME(x, i, time);
	SAME(x, i, last);
	SAME(x, i, count);
	SAME(x, i, who);
	SAME(x, i, stack);
	SAME(x, i, thread);
	SAME(x, i, other);
	SAME(x, i, other_stack);
	SAME(x, i, call);
	SAME(x, i, fd);
	SAME(x, i, gen);
	SAME(x, i, other_time);
	for (size_t k = 0; k < 4; k++) // as text: JSON's integers are signed
		assert_int_equal(i->value[k], strtoull(json_string_value(json_array_get(json_object_get(x, "value"), k)), NULL, 10));
	json_decref(x);
	free(blob);
}

static void crash(void **state)
{
	(void)state;
	void *blob;
	json_t *x;
	assert_int_equal(load("crash", &blob, &x), sizeof(struct ctp_crash));
	const struct ctp_crash *c = blob;
	SAME(x, c, ready);
	SAME(x, c, signal);
	SAME(x, c, code);
	SAME(x, c, tid);
	SAME(x, c, addr);
	SAME(x, c, time);
	SAME(x, c, who);
	SAME(x, c, stack);
	SAME(x, c, thread);
	SAME(x, c, armed);
	SAME(x, c, steps);
	SAME(x, c, time_ns);
	for (size_t k = 0; k < CTP_REGS; k++)
		assert_int_equal(c->regs[k], json_integer_value(json_array_get(json_object_get(x, "regs"), k)));
	json_decref(x);
	free(blob);
}

// Of a region that is all zeros but for these: what ctp_table_rows finds.
struct found {
	const json_t *expect;
	size_t n;
};

static void found_name(void *arg, uint64_t index, const void *row)
{
	struct found *f = arg;
	const struct ctp_name *name = row;
	const json_t *want = json_array_get(f->expect, f->n++);
	assert_int_equal(index, json_integer_value(json_array_get(want, 0)));
	assert_int_equal(name->id, json_integer_value(json_array_get(want, 1)));
	assert_string_equal(name->text, json_string_value(json_array_get(want, 2)));
}

static void names(void **state)
{
	(void)state;
	void *blob;
	json_t *x;
	struct ctp_header h = { .version = CTP_VERSION };
	size_t bytes = load("names", &blob, &x);
	h.allocated_count = (uint32_t)number(x, "stations");
	struct ctp_region r = { .header = &h, .names_map = blob, .stations_max = h.allocated_count,
				.names = (void *)((char *)blob + CTP_NAMES_MAP_BYTES) };
	struct found f = { json_object_get(x, "names"), 0 };
	assert_int_equal(bytes, CTP_NAMES_MAP_BYTES + h.allocated_count * sizeof(struct ctp_name));
	ctp_table_rows(&r, CTP_TABLE_NAMES, found_name, &f);
	assert_int_equal(f.n, json_array_size(f.expect));
	r.names = NULL; // a region from before names
	ctp_table_rows(&r, CTP_TABLE_NAMES, found_name, &f);
	assert_int_equal(f.n, json_array_size(f.expect));
	json_decref(x);
	free(blob);
}

// The list, two rows, and the slots of a record of the first.
static void events(void **state)
{
	(void)state;
	void *blob;
	json_t *x;
	size_t bytes = load("events", &blob, &x), head = sizeof(struct ctp_event_choice) + 2 * sizeof(struct ctp_event_row);
	const struct ctp_event_choice *choice = blob;
	const struct ctp_event_row *row = (const void *)(choice + 1);
	const char *want = json_string_value(json_object_get(x, "choice")), *text = row->text;
	assert_int_equal(choice->bytes, strlen(want));
	assert_memory_equal(choice->text, want, choice->bytes);
	assert_int_equal(row[0].ready, 1);
	assert_int_equal(row[1].ready, 0);
	SAME(x, row, line);
	for (unsigned i = 0; i < 3; i++, text += strlen(text) + 1)
		assert_string_equal(text, json_string_value(json_object_get(x, ((const char *[]){ "provider", "name", "file" })[i])));
	assert_int_equal(row->fields, json_array_size(json_object_get(x, "fields")));
	for (unsigned i = 0; i < row->fields; i++, text += strlen(text) + 1) {
		const json_t *f = json_array_get(json_object_get(x, "fields"), i);
		text += strlen(text) + 1; // its type
		assert_string_equal(text, json_string_value(json_array_get(f, 0)));
		assert_int_equal(row->kinds[i], json_integer_value(json_array_get(f, 1)));
		assert_int_equal(row->sizes[i], json_integer_value(json_array_get(f, 2)));
	}
	assert_int_equal(text - row->text, row->text_bytes);
	const struct ctp_record *r = (const void *)((char *)blob + head);
	struct ctp_cursor c = { 0 };
	struct ctp_event e;
	assert_int_equal(ctp_record_read(&c, r, (bytes - head) / sizeof(*r), &e), number(x, "slots"));
	assert_int_equal(e.kind, CTP_EV_USER);
	assert_int_equal(e.time, number(x, "time"));
	assert_int_equal(e.a, number(x, "coroutine"));
	assert_int_equal(e.value, 0);
	json_decref(x);
	free(blob);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version1), cmocka_unit_test(present_state), cmocka_unit_test(records),
		cmocka_unit_test(incident), cmocka_unit_test(crash), cmocka_unit_test(names),
		cmocka_unit_test(events),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
