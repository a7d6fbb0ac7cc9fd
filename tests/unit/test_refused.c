// SPDX-License-Identifier: MIT
//
// What stands in a trace in place of its files: links, FIFOs, devices, folders. Each costs itself alone, with a word about it;
// no reader follows it, waits for it, or writes to what it leads to.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "builder.h"
#include "trace/transitions.h"
#include "trace/world.h"
#include "trace_dir.h"

static struct builder b;
static char precious[64];
static const char text[] = "what nobody may touch\n";

// A trace of two threads, whose streams end in a part of a packet, and a file beside it.
static int begin(void **state)
{
	static struct ctp_record r[11];
	if (trace_dir_begin())
		return -1;
	snprintf(precious, sizeof(precious), "%s/precious", dir);
	ctp_record_set(&r[0], &r[1], BUILDER_START, ctp_w1(CTP_EV_SWITCH, CTP_HOW_SWAP, 1) | (uint64_t)CTP_MARK_NEAR << 56, ctp_w2(2, 0),
		       1ULL << 32 | 1);
	for (size_t i = 2; i < 11; i++)
		ctp_record_set_short(&r[i], BUILDER_START + i, CTP_HOW_SWAP, i % 2 ? 2 : 1, 0, i);
	int fd = open(precious, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	int e = fd < 0 || write(fd, text, sizeof(text) - 1) != sizeof(text) - 1 || close(fd) || builder_begin(&b, trace_dir);
	builder_coroutine(&b, 41, CTP_SUSPENDED);
	return e || builder_stream(&b, 0, r, 11, 4, 40) || builder_stream(&b, 1, r, 11, 4, 40) || builder_end(&b);
}

static const char *at(const char *name)
{
	static char path[128];
	snprintf(path, sizeof(path), "%s/%s", trace_dir, name);
	return path;
}

static void replace_by_link(const char *name, const char *to)
{
	assert_true(!unlink(at(name)) || errno == ENOENT);
	assert_int_equal(symlink(to, at(name)), 0);
}

static off_t size_of(const char *path)
{
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

static void need_untouched(void)
{
	char got[64] = "";
	int fd = open(precious, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, got, sizeof(got) - 1), sizeof(text) - 1);
	close(fd);
	assert_string_equal(got, text);
}

static struct world_stream *stream(struct world *w, const char *name)
{
	for (size_t i = 0; i < w->nstreams; i++)
		if (!strcmp(file_base(w->streams[i].path), name))
			return &w->streams[i];
	return NULL;
}

static bool covered(const struct world *w, const char *words)
{
	for (size_t i = 0; i < w->ncoverage; i++)
		if (strstr(w->coverage[i], words))
			return true;
	return false;
}

static void open_world(struct world *w)
{
	struct world_error error;
	assert_int_equal(world_open(w, trace_dir, 0, NULL, &error), 0);
}

// A stream that is a link out of the trace is neither read nor shortened; the others are.
static void repairs_no_link(void **state)
{
	struct world w;
	replace_by_link("t9.0", "../precious");
	open_world(&w);
	assert_int_equal(stream(&w, "t9.0")->error, -ELOOP);
	assert_true(covered(&w, "t9.0 is not read: it is a symbolic link"));
	assert_int_equal(w.events, 20);
	assert_int_equal(world_stream_repair(&w, stream(&w, "t9.0")), -ELOOP);
	need_untouched();
	const struct world_stream *cut = stream(&w, "t0.0");
	assert_true(cut->whole_bytes < cut->file_bytes);
	assert_int_equal(world_stream_repair(&w, cut), 0);
	assert_int_equal(size_of(at("t0.0")), cut->whole_bytes);
	world_close(&w);
}

// What was read is what is shortened: not a file, nor a link, that took its place since, and not one that has grown.
static void repairs_what_was_read(void **state)
{
	struct world w;
	open_world(&w);
	int held = open(at("t0.0"), O_RDONLY | O_CLOEXEC); // so that its inode's number is given to no other file
	assert_true(held >= 0);
	replace_by_link("t0.0", "../precious");
	assert_int_equal(world_stream_repair(&w, stream(&w, "t0.0")), -ELOOP);
	assert_int_equal(unlink(at("t0.0")), 0);
	assert_int_equal(link(precious, at("t0.0")), 0);
	assert_int_equal(world_stream_repair(&w, stream(&w, "t0.0")), -ESTALE);
	need_untouched();
	const struct world_stream *read_one = stream(&w, "t0.0");
	assert_int_equal(unlink(at("t0.0")), 0);
	int fd = open(at("t0.0"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(fd, (off_t)read_one->file_bytes), 0); // as long as it was
	close(fd);
	assert_int_equal(world_stream_repair(&w, read_one), -ESTALE);
	assert_int_equal(size_of(at("t0.0")), read_one->file_bytes);
	off_t before = size_of(at("t1.0"));
	assert_int_equal(truncate(at("t1.0"), before + 8), 0);
	assert_int_equal(world_stream_repair(&w, stream(&w, "t1.0")), -ESTALE);
	assert_int_equal(size_of(at("t1.0")), before + 8);
	close(held);
	world_close(&w);
}

// A stream with a second name is read; to shorten it would shorten what else it is.
static void repairs_no_hard_link(void **state)
{
	struct world w;
	char other[80];
	snprintf(other, sizeof(other), "%s/other", dir);
	off_t before = size_of(at("t0.0"));
	assert_int_equal(link(at("t0.0"), other), 0);
	open_world(&w);
	assert_int_equal(w.events, 20);
	assert_int_equal(world_stream_repair(&w, stream(&w, "t0.0")), -EMLINK);
	assert_int_equal(size_of(other), before);
	world_close(&w);
}

// What the world is of is the folder that was opened, whatever has its name later.
static void stays_in_its_folder(void **state)
{
	struct world w;
	char moved[80];
	open_world(&w);
	snprintf(moved, sizeof(moved), "%s/moved", dir);
	assert_int_equal(rename(trace_dir, moved), 0);
	assert_int_equal(mkdir(trace_dir, 0700), 0);
	assert_int_equal(link(precious, at("t0.0")), 0);
	const struct world_stream *s = stream(&w, "t0.0");
	assert_int_equal(world_stream_repair(&w, s), 0);
	need_untouched();
	world_close(&w);
}

static int count(void *arg, const struct transition *m)
{
	++*(unsigned *)arg;
	return 0;
}

static const char *const files[] = { "t0.0", "ctp/trace.json", "ctp/image0/stations", "ctp/image0/ext", "ctp/image0/witness.jsonl",
				     "ctp/image0/sets.jsonl", "ctp/image0/slices.jsonl", "ctp/image0/descriptors.jsonl",
				     "ctp/image0/highwater.jsonl", "ctp/image0/modules", "ctp/image0/names" };

static int fifo(const char *path)
{
	return mkfifo(path, 0600);
}
static int zeros(const char *path)
{
	return symlink("/dev/zero", path);
}
static int other(const char *path)
{
	return symlink(precious, path);
}
static int folder(const char *path)
{
	return mkdir(path, 0700);
}

// Each file in turn is something else: all that does not need it is read, and a line says what was not.
static void one_for_another(void **state)
{
	static int (*const makes[])(const char *) = { fifo, zeros, other, folder };
	for (size_t i = 0; i < sizeof(files) / sizeof(*files) * 4; i++) {
		const char *name = files[i / 4];
		struct world w;
		struct world_error error;
		unsigned moves = 0;
		assert_true(!unlink(at(name)) || errno == ENOENT);
		assert_int_equal(makes[i % 4](at(name)), 0);
		int r = world_open(&w, trace_dir, 0, NULL, &error);
		if (!strcmp(name, "ctp/trace.json")) {
			assert_true(r < 0 && strstr(error.text, "its ctp/trace.json is not read: it is "));
		} else {
			char words[64];
			assert_int_equal(r, 0);
			snprintf(words, sizeof(words), "%s is not read: it is ", name);
			assert_true(covered(&w, words));
			assert_int_equal(w.events, *name == 't' ? 10 : 20);
			assert_int_equal(transitions_walk(&w, count, &moves), 0);
			world_close(&w);
		}
		need_untouched();
		trace_dir_end(NULL);
		assert_int_equal(begin(NULL), 0);
	}
}

// A folder that is a link: what lies there is not this trace's.
static void folders_of_others(void **state)
{
	static const char *const names[] = { "ctp/image0", "ctp", "ctp/image0/snapshot" };
	for (size_t i = 0; i < 3; i++) {
		struct world w;
		struct world_error error;
		char away[80];
		snprintf(away, sizeof(away), "%s/away", dir);
		assert_true(!rename(at(names[i]), away) || i == 2);
		assert_int_equal(symlink(away, at(names[i])), 0);
		int r = world_open(&w, trace_dir, 0, NULL, &error);
		assert_int_equal(r < 0, i == 1);
		assert_true(i == 1 ? strstr(error.text, "its ctp is not read: it is a symbolic link") != NULL :
			    covered(&w, "is not read: it is a symbolic link") && !w.has_last_tables && w.events == 20);
		if (!r)
			world_close(&w);
		trace_dir_end(NULL);
		assert_int_equal(begin(NULL), 0);
	}
}

// Where the trace lies is the user's word: that may be a link.
static void given_by_a_link(void **state)
{
	struct world w;
	struct world_error error;
	char name[80];
	snprintf(name, sizeof(name), "%s/link", dir);
	assert_int_equal(symlink(trace_dir, name), 0);
	assert_int_equal(world_open(&w, name, 0, NULL, &error), 0);
	assert_int_equal(w.events, 20);
	world_close(&w);
}

// Files that claim to be larger than any disk: their holes are passed over.
static void holes(void **state)
{
	struct world w;
	const off_t large = 1LL << 42;
	if (truncate(at("t0.0"), large)) {
		print_message("no file of 4 TB here: %s\n", strerror(errno));
		skip();
	}
	int fd = open(at("ctp/image0/sets.jsonl"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(fd, large), 0);
	close(fd);
	open_world(&w);
	assert_int_equal(w.events, 20);
	assert_true(covered(&w, "1 damaged line in the witness"));
	world_close(&w);
	assert_int_equal(truncate(at("ctp/image0/stations"), large), 0);
	open_world(&w);
	assert_int_equal(w.events, 20);
	assert_true(covered(&w, "a table is damaged"));
	world_close(&w);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, trace_dir_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(repairs_no_link), TEST(repairs_what_was_read), TEST(repairs_no_hard_link), TEST(stays_in_its_folder),
		TEST(one_for_another), TEST(folders_of_others), TEST(given_by_a_link), TEST(holes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
