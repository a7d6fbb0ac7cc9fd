// SPDX-License-Identifier: MIT
//
// Records of events become events of a stream: the vector of spec/vectors, and rows and records that are hostile.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/record/event_stream.h"
#include "engine/record/validate.h"

enum { HEAD = sizeof(struct ctp_event_choice) };

static unsigned char *vector;
static size_t bytes;

static int load(void **state)
{
	(void)state;
	FILE *f = fopen(VECTORS "/events.bin", "rb");
	assert_non_null(f);
	vector = malloc(1 << 16);
	bytes = fread(vector, 1, 1 << 16, f);
	fclose(f);
	return 0;
}

static int drop(void **state)
{
	(void)state;
	free(vector);
	return 0;
}

struct made {
	struct ctp_region region;
	struct ctp_record slots[CTP_RECORD_SLOTS], events[CTP_RECORD_SLOTS];
	struct writer_batch batch;
	struct event_rows *rows;
	struct event_classes classes;
	struct event_packet packet;
	uint64_t bad;
};

static struct made *begin(unsigned n)
{
	struct made *m = calloc(1, sizeof(*m));
	m->region.events = (void *)(vector + HEAD);
	m->region.events_max = 2;
	m->rows = calloc(1, sizeof(*m->rows));
	memcpy(m->slots, vector + HEAD + 2 * sizeof(struct ctp_event_row), n * sizeof(*m->slots));
	return m;
}

static void make(struct made *m, unsigned n)
{
	struct ctp_cursor c = { 0 };
	m->batch = (struct writer_batch){ .events = m->events };
	m->bad = 0;
	validate_records(m->slots, n, &c, &m->batch, &m->bad);
	assert_int_equal(event_packet_fill(&m->packet, &m->batch, m->rows, &m->classes, &m->region), 0);
}

static void end(struct made *m)
{
	event_packet_deinit(&m->packet);
	event_classes_deinit(&m->classes);
	free(m->rows);
	free(m);
}

static unsigned vector_slots(void)
{
	return (unsigned)((bytes - HEAD - 2 * sizeof(struct ctp_event_row)) / sizeof(struct ctp_record));
}

static void the_vector(void **state)
{
	(void)state;
	struct made *m = begin(vector_slots());
	make(m, vector_slots());
	assert_int_equal(m->batch.event_records, 1);
	assert_int_equal(m->batch.records, 0);
	assert_int_equal(m->packet.events, 1);
	assert_int_equal(m->packet.begin, 77);
	unsigned char want[20 + 12 + 7 + 15];
	memcpy(want, "\0\0\0\0" "\x4d\0\0\0\0\0\0\0" "\x29\0\0\0\0\0\0\0", 20);
	memcpy(want + 20, "\xfe\xff\xff\xff\xff\xff\xff\xff" "\x94\x01\0\0" "/in...", 19);
	memcpy(want + 39, "\x1e\0\0\0" "\x09\0" "\0\1\2\3\4\5\6\7\x08", 15);
	assert_int_equal(m->packet.n, sizeof(want));
	assert_memory_equal(m->packet.bytes, want, sizeof(want));
	assert_int_equal(m->classes.n, 1);
	assert_string_equal(m->classes.items[0]->file, "web.c");
	end(m);
}

// A record of a row that is not there, or whose names are none, is left out and counted.
static void rows_that_are_none(void **state)
{
	(void)state;
	unsigned n = vector_slots();
	struct made *m = begin(n);
	struct ctp_event_row *row = &m->region.events[0];
	static const struct {
		size_t at;
		unsigned char is;
	} damage[] = {
		{ offsetof(struct ctp_event_row, ready), 0 }, { offsetof(struct ctp_event_row, text_bytes), 0 },
		{ offsetof(struct ctp_event_row, text_bytes), 30 }, { offsetof(struct ctp_event_row, text_bytes) + 1, 255 },
		{ offsetof(struct ctp_event_row, fields), 13 }, { offsetof(struct ctp_event_row, fields), 5 },
		{ offsetof(struct ctp_event_row, kinds), 0 }, { offsetof(struct ctp_event_row, kinds), 77 },
		{ offsetof(struct ctp_event_row, sizes), 3 }, { offsetof(struct ctp_event_row, sizes), 0 },
		{ offsetof(struct ctp_event_row, text), ';' }, { offsetof(struct ctp_event_row, text), 0 },
		{ offsetof(struct ctp_event_row, text), '7' }, { offsetof(struct ctp_event_row, text) + 6, '"' },
	};
	for (size_t i = 0; i < sizeof(damage) / sizeof(*damage); i++) {
		unsigned char was = ((unsigned char *)row)[damage[i].at];
		((unsigned char *)row)[damage[i].at] = damage[i].is;
		make(m, n);
		assert_int_equal(m->packet.events, 0);
		assert_int_equal(m->packet.unknown, 1);
		assert_int_equal(m->classes.n, 0);
		((unsigned char *)row)[damage[i].at] = was;
	}
	m->slots[1].w0 |= 1 << 8; // row 1 is not ready
	make(m, n);
	assert_int_equal(m->packet.unknown, 1);
	m->slots[0].w0 |= 0x7f; // row 32513 of 2
	make(m, n);
	assert_int_equal(m->packet.unknown, 1);
	end(m);
}

// Whatever the slots say, the event ends where its class says, and nothing beyond the record is read.
static void records_that_say_anything(void **state)
{
	(void)state;
	struct made *m = begin(vector_slots());
	uint64_t x = 88172645463325252ULL;
	for (int round = 0; round < 3000; round++) {
		for (unsigned i = 0; i < CTP_RECORD_SLOTS; i++) {
			uint64_t *w = &m->slots[i].w0;
			for (int k = 0; k < 2; k++) {
				x ^= x << 13;
				x ^= x >> 7;
				x ^= x << 17;
				w[k] = x;
			}
			w[0] = (w[0] & ~0xffULL) | CTP_EV_REST;
		}
		unsigned slots = 2 + (unsigned)(x >> 8) % 98;
		m->slots[0].w0 = CTP_EV_USER | 5 << 8;
		m->slots[1].w0 = CTP_EV_REST | 41 << 16 | (uint64_t)(slots - 2) << 56;
		make(m, slots);
		assert_int_equal(m->packet.events, 1);
		assert_true(m->packet.n >= 20 + 12 + 1 + 6 && m->packet.n <= 20 + 12 + 256 + 4 + 6 + 256);
	}
	end(m);
}

// An event that is cut at the end of what was copied stays; one that is longer than any is none.
static void cut_and_too_long(void **state)
{
	(void)state;
	unsigned n = vector_slots();
	struct made *m = begin(n);
	struct ctp_cursor c = { 0 };
	memmove(m->slots + 1, m->slots, n * sizeof(*m->slots));
	m->slots[0] = (struct ctp_record){ CTP_EV_SHORT + CTP_HOW_SWAP, 5 };
	for (unsigned cut = 1; cut <= n; cut++) {
		m->batch = (struct writer_batch){ .events = m->events };
		assert_int_equal(validate_records(m->slots, cut, &c, &m->batch, &m->bad), 1);
		assert_int_equal(m->batch.event_records, 0);
	}
	m->batch = (struct writer_batch){ .events = m->events };
	assert_int_equal(validate_records(m->slots, n + 1, &c, &m->batch, &m->bad), n + 1);
	assert_int_equal(m->batch.event_records, 1);
	assert_int_equal(m->batch.n, 1);
	assert_int_equal(m->bad, 0);
	for (unsigned i = 2; i < CTP_RECORD_SLOTS; i++)
		m->slots[i].w0 = CTP_EV_REST;
	m->slots[2].w0 |= (uint64_t)(CTP_EVENT_SLOTS - 1) << 56;
	m->batch = (struct writer_batch){ .events = m->events };
	validate_records(m->slots, CTP_RECORD_SLOTS, &c, &m->batch, &m->bad);
	assert_int_equal(m->batch.event_records, 0);
	assert_true(m->bad > 0);
	end(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_vector), cmocka_unit_test(rows_that_are_none),
		cmocka_unit_test(records_that_say_anything), cmocka_unit_test(cut_and_too_long),
	};
	return cmocka_run_group_tests(tests, load, drop);
}
