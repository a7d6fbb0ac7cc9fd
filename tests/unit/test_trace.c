// SPDX-License-Identifier: MIT
//
// Tests of src/trace: what a trace says, and that a damaged one says less
// but never more, and never brings the reader down.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "builder.h"
#include "sanitized.h"
#include "trace/world.h"
#include "trace_dir.h"

static struct builder b;

static int begin(void **state)
{
	return trace_dir_begin() ? -1 : builder_begin(&b, trace_dir);
}

static void server(void)
{
	struct ctp_state *c = builder_coroutine(&b, 41, CTP_SUSPENDED);
	builder_fd(&b, 7, 3, CTP_FD_OPEN);
	builder_wait(c, 7, 3, 1007);
	c->stack = builder_stack(&b, 3, (uint64_t[]){ 1, 2, 3 });
	builder_coroutine(&b, 42, CTP_CREATED);
	builder_coroutine(&b, 43, CTP_RUNNING);
	struct ctp_thread *t = builder_thread(&b, 100, 1);
	t->finished = 5;
	t->destroyed = 6;
	t->switches = 10;
	t->lost = 4;
}

// 1 and 2 in turn, the first in two slots.
static struct ctp_record *records(size_t n)
{
	static struct ctp_record r[101];
	ctp_record_set(&r[0], &r[1], BUILDER_START, ctp_w1(CTP_EV_SWITCH, CTP_HOW_SWAP, 1) | (uint64_t)CTP_MARK_NEAR << 56,
		       ctp_w2(2, 0), 1ULL << 32 | 1);
	for (size_t i = 2; i <= n; i++)
		ctp_record_set_short(&r[i], BUILDER_START + i, CTP_HOW_SWAP, i % 2 ? 2 : 1, 0, i);
	return r;
}

static void open_world(struct world *w)
{
	struct world_error error;
	assert_int_equal(world_open(w, trace_dir, 0, NULL, &error), 0);
}

static void test_counts(void **state)
{
	struct world w;
	server();
	assert_int_equal(builder_stream(&b, 0, records(10), 11, 4, 0), 0);
	assert_int_equal(builder_end(&b), 0);
	open_world(&w);
	assert_true(w.has_last_tables);
	assert_int_equal(w.coroutines, 3 + 5 + 6);
	assert_int_equal(w.counts.suspended, 1);
	assert_int_equal(w.counts.created, 1);
	assert_int_equal(w.counts.running, 1);
	assert_int_equal(w.counts.healthy, 1);
	assert_int_equal(w.counts.switches, 10);
	assert_int_equal(w.events, 10);
	assert_int_equal(w.lost, 4);
	assert_int_equal(w.threads, 1);
	assert_int_equal(w.duration_ns, 5000000000ULL);
	world_close(&w);
}

// However it is cut into packets, and from whichever on it is read, it says the same; with
// none of its first packets, as much less as they held.
static void test_packets(void **state)
{
	struct world w;
	server();
	b.threads[0].switches = 0; // nothing is missing
	assert_int_equal(builder_stream(&b, 0, records(90), 91, 1, 0), 0);
	assert_int_equal(builder_end(&b), 0);
	char path[128], rest[16384];
	snprintf(path, sizeof(path), "%s/t0.0", trace_dir);
	for (uint64_t events = 90;; events--) {
		open_world(&w);
		assert_int_equal(w.events, events);
		assert_int_equal(w.kinds[CTP_EV_SWITCH], events);
		assert_int_equal(w.unknown_kinds, 0);
		assert_int_equal(w.ncoverage, 0);
		world_close(&w);
		if (!events)
			break;
		FILE *f = fopen(path, "r+e");
		assert_non_null(f);
		fseek(f, 96 + (events == 90 ? 32 : 16), SEEK_SET);
		size_t n = fread(rest, 1, sizeof(rest), f);
		rewind(f);
		fwrite(rest, 1, n, f);
		fflush(f);
		assert_int_equal(ftruncate(fileno(f), (long)n), 0);
		fclose(f);
	}
}

static void test_contradiction(void **state)
{
	struct world w;
	server();
	struct ctp_record *r = records(10);
	ctp_record_set_short(&r[9], BUILDER_START + 9, CTP_HOW_SWAP, 2, 0, 5); // as it was four switches ago
	assert_int_equal(builder_stream(&b, 0, r, 11, 4, 0), 0);
	assert_int_equal(builder_end(&b), 0);
	open_world(&w);
	assert_int_equal(w.events, 10);
	assert_int_equal(w.ncoverage, 1);
	assert_string_equal(w.coverage[0], "1 records contradict the order in which their coroutines moved");
	world_close(&w);
}

static void test_cut_stream(void **state)
{
	struct world w;
	server();
	for (size_t torn = 0; torn < 96 + 11 * 16; torn += 7) {
		assert_int_equal(builder_stream(&b, 0, records(10), 11, 4, torn), 0);
		if (!torn)
			assert_int_equal(builder_end(&b), 0);
		open_world(&w);
		assert_int_equal(w.events, 10);
		assert_int_equal(w.streams[0].whole_bytes, 3 * 96 + 11 * 16);
		assert_int_equal(w.ncoverage, torn ? 1 : 0);
		world_close(&w);
	}
}

// ------------------------------------------------------------- damaged streams

enum { PACKETS = 9, PER = 10, EACH = 96 + PER * 16, ALL = PACKETS * EACH, EVENTS = PACKETS * PER - 1 }; // the first one takes two

static char stream[ALL + 65536];
static size_t stream_size;

static void whole_stream(void)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/t0.0", trace_dir);
	assert_int_equal(builder_stream(&b, 0, records(EVENTS), EVENTS + 1, PER, 0), 0);
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	stream_size = fread(stream, 1, sizeof(stream), f);
	fclose(f);
	assert_int_equal(stream_size, ALL);
}

// Another `bytes` at `at`, of which there were `old`.
static void put_in(size_t at, size_t old, const void *what, size_t bytes)
{
	static char copy[65536];
	memcpy(copy, what, bytes);
	memmove(stream + at + bytes, stream + at + old, stream_size - at - old);
	memcpy(stream + at, copy, bytes);
	stream_size += bytes - old;
}

struct seen {
	uint64_t events, at, missing, repeated, stray, rest;
};

static struct seen look_at_it(void)
{
	struct world w;
	char path[128];
	snprintf(path, sizeof(path), "%s/t0.0", trace_dir);
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	fwrite(stream, 1, stream_size, f);
	fclose(f);
	open_world(&w);
	const struct world_stream *s = &w.streams[0];
	struct seen seen = { w.events, s->damage.at, s->damage.missing, s->damage.repeated, s->damage.stray,
			     s->file_bytes - s->whole_bytes };
	world_close(&w);
	return seen;
}

#define SEES(...)                                                         \
	({                                                                \
		struct seen got = look_at_it(), want = { __VA_ARGS__ };   \
		assert_memory_equal(&got, &want, sizeof(got));            \
		whole_stream();                                           \
	})

// What is damaged costs itself alone, and no record counts twice.
static void test_damaged_stream(void **state)
{
	static const char zeros[4096];
	const size_t at = 4 * EACH, first_number = 56;
	server();
	assert_int_equal(builder_end(&b), 0);
	whole_stream();
	SEES(EVENTS, 0, 0, 0, 0, 0);
	put_in(at, 0, zeros, sizeof(zeros));
	SEES(EVENTS, at, 0, 0, sizeof(zeros), 0);
	put_in(at, 0, stream + 96, 7); // records of others, at no boundary
	SEES(EVENTS, at, 0, 0, 7, 0);
	put_in(at, 96, zeros, 96);
	SEES(EVENTS - 10, at, 1, 0, EACH, 0);
	put_in(0, 96, zeros, 96);
	SEES(EVENTS - 9, 0, 1, 0, EACH, 0);
	put_in(at, EACH, "", 0);
	SEES(EVENTS - 10, at, 1, 0, 0, 0);
	put_in(at + 96 + 32, 48, "", 0); // cut in its middle
	SEES(EVENTS - 10, at, 1, 0, 0, 0);
	put_in(at, 0, stream + at, EACH);
	SEES(EVENTS, at + EACH, 0, 1, 0, 0);
	put_in(6 * EACH, 0, stream + 2 * EACH, 4 * EACH);
	SEES(EVENTS, 6 * EACH, 0, 4, 0, 0);
	put_in(ALL, 0, stream + 8 * EACH, EACH);
	SEES(EVENTS, ALL, 0, 1, 0, 0);
	for (unsigned bit = 0; bit < 64; bit++) { // the number itself, of the first, a middle one, the last
		stream[first_number + bit / 8] ^= (char)(1 << bit % 8);
		SEES(EVENTS, 0, 0, 0, 0, 0);
		stream[at + first_number + bit / 8] ^= (char)(1 << bit % 8);
		SEES(EVENTS, 0, 0, 0, 0, 0);
	}
	put_in(8 * EACH, 96, zeros, 96);
	SEES(EVENTS - 10, 0, 0, 0, 0, EACH); // nothing comes behind it: an end like any other
	for (size_t bit = 0; bit < 96 * 8; bit++) {
		stream[at + bit / 8] ^= (char)(1 << bit % 8);
		struct seen got = look_at_it();
		assert_true(got.events >= EVENTS - 10 && got.events <= EVENTS && !got.rest && got.missing <= 1 && !got.repeated);
		whole_stream();
	}
}

static void test_stack_bounds(void **state)
{
	struct world w;
	unsigned n;
	server();
	b.stack_index[2] = 5000; // beyond the words
	b.stack_index[3] = 5;    // its length passes the end
	b.stack_words[b.nwords++] = 50;
	b.nstacks = 4;
	assert_int_equal(builder_end(&b), 0);
	open_world(&w);
	const struct image *m = &w.images[0];
	const uint64_t *pcs = image_stack(m, 1, &n, NULL);
	assert_int_equal(n, 3);
	assert_int_equal(pcs[2], 3);
	for (uint32_t id = 2; id < 10; id++)
		assert_null(image_stack(m, id, &n, NULL));
	assert_null(image_stack(m, 0, &n, NULL));
	assert_null(image_stack(m, UINT32_MAX, &n, NULL));
	world_close(&w);
}

static void test_witness_merge(void **state)
{
	struct world w;
	server();
	const struct ctp_state *c = &b.stations[0];
	struct ctp_state moved = *c;
	moved.changes++;
	builder_look(&b, c, 7, 3, 10, "++???+-", "a way");
	builder_look(&b, c, 7, 3, 20, "??+-?-+", NULL);
	builder_look(&b, c, 7, 3, 30, "--++???", "another way");
	builder_look(&b, &moved, 7, 3, 40, "-------", NULL);
	fprintf(b.witness, "{\"v\":1,\"coroutine\":\"41\"}\nnot json\n{\"v\":1,\"cor");
	assert_int_equal(builder_end(&b), 0);
	open_world(&w);
	const struct witness *s = witness_find(&w.images[0].witness, 1, 41, 7, 3);
	assert_non_null(s);
	assert_int_equal(s->items[PROOF_P0].holds, HOLDS_FALSE);
	assert_int_equal(s->items[PROOF_P2].holds, HOLDS_FALSE);
	assert_int_equal(s->items[PROOF_P3].holds, HOLDS_TRUE);
	assert_int_equal(s->items[PROOF_P3].since_ns, 20);
	assert_int_equal(s->items[PROOF_P4].holds, HOLDS_TRUE);
	assert_int_equal(s->items[PROOF_P5].holds, HOLDS_OPEN);
	assert_int_equal(s->items[PROOF_P6A].holds, HOLDS_FALSE); // the first look did not show the rest
	assert_int_equal(s->items[PROOF_P6B].holds, HOLDS_TRUE);
	assert_int_equal(s->nopen, 1);
	assert_string_equal(s->open[0], "another way");
	assert_int_equal(w.images[0].witness.bad_lines, 3);
	assert_null(witness_find(&w.images[0].witness, 1, 41, 7, 2));
	world_close(&w);
}

static void test_no_trace(void **state)
{
	struct world w;
	struct world_error error;
	fclose(b.witness);
	assert_int_equal(world_open(&w, trace_dir, 0, NULL, &error), -ENOENT);
	assert_non_null(strstr(error.text, "not a ctp trace"));
	assert_int_equal(world_open(&w, "/nonexistent", 0, NULL, &error), -ENOENT);
}

// Every file of the trace, with bytes changed and cut at places that a fixed
// sequence picks: reading it may fail, it may not crash.
static void damage(const char *name, unsigned round)
{
	char path[256];
	unsigned char bytes[8192];
	snprintf(path, sizeof(path), "%s/%s", trace_dir, name);
	FILE *f = fopen(path, "r+e");
	assert_non_null(f);
	size_t n = fread(bytes, 1, sizeof(bytes), f);
	for (unsigned i = 0; n && i < 1 + round % 8; i++)
		bytes[rand() % (round % 2 && n > 64 ? 64 : n)] = (unsigned char)(rand() % 3 ? rand() : 0xff);
	rewind(f);
	fwrite(bytes, 1, n, f);
	fflush(f);
	if (round % 5 == 0 && n)
		assert_int_equal(ftruncate(fileno(f), rand() % (long)n), 0);
	fclose(f);
}

static void test_hostile(void **state)
{
	static const char *const files[] = { "t0.0", "ctp/trace.json", "ctp/image0/stations",
					     "ctp/image0/threads", "ctp/image0/fds", "ctp/image0/cands",
					     "ctp/image0/modules", "ctp/image0/stack_index",
					     "ctp/image0/stack_words", "ctp/image0/ext" };
	srand(1);
	for (unsigned round = 0; round < 600; round++) {
		assert_int_equal(builder_begin(&b, trace_dir), 0);
		server();
		builder_self(&b);
		assert_int_equal(builder_stream(&b, 0, records(10), 11, 4, 0), 0);
		assert_int_equal(builder_end(&b), 0);
		damage(files[round % (sizeof(files) / sizeof(*files))], round / 10);
		struct world w;
		struct world_error error;
		if (!world_open(&w, trace_dir, 0, NULL, &error)) {
			unsigned n;
			for (uint32_t id = 0; w.nimages && id < 64; id++)
				image_stack(&w.images[0], id, &n, NULL);
			world_close(&w);
		}
	}
}

// A table says how many rows it has: of as many it is one, of one byte less it is none.
static void test_table_rows(void **state)
{
	static const struct { bool indexed; size_t row; } kinds[] = { { true, 24 }, { false, 16 } };
	fclose(b.witness);
	for (size_t i = 0; i < 2; i++) {
		enum { ROWS = 3 };
		unsigned char file[64 + ROWS * 24] = "CTPTAB1";
		uint32_t head[] = { 1, (uint32_t)kinds[i].row, ROWS, 0, kinds[i].indexed };
		struct table t = { 0 };
		size_t bytes = 64 + ROWS * kinds[i].row;
		memcpy(file + 8, head, sizeof(head));
		for (size_t less = 0; less <= kinds[i].row; less++) {
			int fd = open(trace_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			int to = openat(fd, "table", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
			assert_int_equal(write(to, file, bytes - less), bytes - less);
			close(to);
			assert_int_equal(table_open(&t, fd, "table", 16, kinds[i].indexed), less ? -EPROTO : 0);
			assert_int_equal(t.n, less ? 0 : ROWS);
			table_close(&t);
			close(fd);
		}
	}
}

static void refused(const char *age, unsigned layout)
{
	struct world w;
	struct world_error error;
	char words[64];
	snprintf(words, sizeof(words), "%s ctp (layout %u, this one reads %u)", age, layout, CTP_EXT_VERSION);
	assert_int_equal(world_open(&w, trace_dir, 0, NULL, &error), -EPROTO);
	assert_non_null(strstr(error.text, words));
	assert_null(strstr(error.text, "damaged"));
}

// A table of another size than ours is no damage where the layout is another.
static void test_other_layout(void **state)
{
	server();
	b.ext.version = CTP_EXT_VERSION + 3;
	assert_int_equal(builder_end(&b), 0);
	refused("a newer", CTP_EXT_VERSION + 3);
	char path[256];
	snprintf(path, sizeof(path), "%s/ctp/image0/ext", trace_dir);
	FILE *f = fopen(path, "r+e");
	struct {
		unsigned char header[TABLE_HEADER_BYTES];
		uint64_t magic;
		uint32_t version, bytes;
	} ext;
	assert_non_null(f);
	assert_int_equal(fread(&ext, sizeof(ext), 1, f), 1);
	ext.version = 1;
	*(uint32_t *)(ext.header + 12) = sizeof(ext) - TABLE_HEADER_BYTES;
	rewind(f);
	assert_int_equal(fwrite(&ext, sizeof(ext), 1, f), 1);
	assert_int_equal(fflush(f) | ftruncate(fileno(f), sizeof(ext)) | fclose(f), 0);
	refused("an older", 1);
}

// The manifest says it too: where the tables were never written, it alone.
static void test_other_layout_unfinished(void **state)
{
	char path[256], text[128];
	fclose(b.witness);
	snprintf(path, sizeof(path), "%s/ctp/trace.json", trace_dir);
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	snprintf(text, sizeof(text), "{\"format\":\"ctp-trace\",\"version\":1,\"layout\":%u,\"complete\":false}",
		 CTP_EXT_VERSION + 1);
	assert_int_equal(fputs(text, f) < 0, 0);
	assert_int_equal(fclose(f), 0);
	refused("a newer", CTP_EXT_VERSION + 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, trace_dir_end)

int main(void)
{
	if (not_under(SANITIZED_THREAD, "it has one thread, and takes long"))
		return SKIPPED_PROGRAM;
	const struct CMUnitTest tests[] = {
		TEST(test_counts), TEST(test_packets), TEST(test_contradiction), TEST(test_cut_stream), TEST(test_damaged_stream), TEST(test_stack_bounds),
		TEST(test_witness_merge), TEST(test_no_trace), TEST(test_hostile), TEST(test_other_layout),
		TEST(test_other_layout_unfinished), TEST(test_table_rows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
