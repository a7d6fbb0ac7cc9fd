// SPDX-License-Identifier: MIT
//
// What ctp-ps --watch reads of a process: this one, in which a region is written by hand.
// Looks at stations and threads, the last records of rings, what a stack had in use, and
// what ctp-run has written of findings.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "ctp/region.h"
#include "ps/watch/watch_last.h"
#include "ps/watch/watch_inspect.h"
#include "ps/watch/watch_proofs.h"
#include "ps/watch/watch_use.h"

enum { STATIONS = 300, RING = 4096, SLOTS = RING / 16 };

static struct ctp_region region;
static struct found found;

// By which the region is read here: a thread of it may do something before each copy.
static void (*before_read)(const void *from);
ssize_t process_vm_readv(pid_t pid, const struct iovec *l, unsigned long ln, const struct iovec *r, unsigned long rn, unsigned long flags)
{
	if (before_read && rn)
		before_read(r->iov_base);
	return syscall(SYS_process_vm_readv, pid, l, ln, r, rn, flags);
}

static int make_region(void **state)
{
	struct ctp_header layout = { 0 };
	ctp_region_layout(&layout, STATIONS, RING);
	void *base = mmap(NULL, layout.ext.region_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return -1;
	memcpy(base, &layout, sizeof(layout));
	if (ctp_region_open(&region, base, layout.ext.region_bytes))
		return -1;
	region.ext->clock_kind = CTP_CLOCK_MONOTONIC;
	found = (struct found){ .pid = getpid(), .region = { .pid = getpid(), .base = (uintptr_t)base, .bytes = region.bytes, .fd = -1 } };
	found.header = *region.header;
	return 0;
}

static int drop_region(void **state)
{
	return munmap(region.base, region.bytes);
}

static void put_coroutine(uint32_t i, uint64_t id, uint64_t changes, enum ctp_life life)
{
	struct ctp_state *s = &region.states[i];
	*s = (struct ctp_state){ .id = id, .owner = CTP_OWNER_GUEST, .entity = CTP_COROUTINE, .since = 1 };
	s->changes = changes;
	s->life = life;
	if (region.header->allocated_count <= i)
		region.header->allocated_count = i + 1;
}

static struct ctp_thread *put_thread(uint32_t i, uint32_t tid, uint64_t native)
{
	struct ctp_thread *t = &region.threads[i];
	*t = (struct ctp_thread){ .life = CTP_THREAD_LIVE, .tid = tid, .native = native, .current = native };
	if (region.ext->thread_high <= i)
		region.ext->thread_high = i + 1;
	return t;
}

// ---------------------------------------------------------------------- looks

static void from_look_to_look(void **state)
{
	struct watch_model m = { 0 };
	struct watch_threads *t;
	struct watch_totals totals;
	for (uint32_t i = 0; i < STATIONS; i++)
		put_coroutine(i, i + 1, 10, CTP_SUSPENDED);
	struct ctp_thread *row = put_thread(0, (uint32_t)gettid(), 1000);
	row->switches = 50;
	row->lost = 3;
	region.ext->lost_unslotted = 1;
	assert_int_equal(watch_threads_new(&t, &found), 0);
	assert_int_equal(watch_inspect(&m, t, &found, &totals), 0);
	assert_int_equal(m.count, STATIONS);
	assert_int_equal(totals.threads, 1);
	assert_int_equal(totals.switches, 50);
	assert_int_equal(totals.lost, 4);
	assert_true(totals.cpu_known); // of this very thread
	assert_int_equal(watch_threads_native(t, 1000), gettid());
	assert_int_equal(watch_threads_native(t, 1001), 0);
	put_coroutine(260, 261, 14, CTP_SUSPENDED); // two switches into it
	put_coroutine(261, 262, 11, CTP_FINISHED);
	region.states[262].turn |= 1; // its writer was stopped in the middle
	assert_int_equal(watch_inspect(&m, t, &found, &totals), 0);
	assert_int_equal(m.count, STATIONS - 1);
	assert_int_equal(m.unsettled, 1);
	assert_int_equal(m.rows[260].c.changes - m.rows[260].before, 4);
	assert_true(m.rows[260].rate > 0);
	assert_true(m.rows[259].rate == 0);
	char called[CTP_NAME_TEXT];
	assert_string_equal(watch_model_name(&m, &m.rows[200], called), "");
	unsigned char *names = region.base + region.ext->names_off;
	names[200 / CTP_NAMES_EACH / 8] |= 1 << 200 / CTP_NAMES_EACH % 8;
	struct ctp_name *name = (struct ctp_name *)(names + CTP_NAMES_MAP_BYTES) + 200;
	*name = (struct ctp_name){ .id = 201, .text = "conn\t41" };
	name[1] = (struct ctp_name){ .id = 9, .text = "who had this station before" };
	name[2] = (struct ctp_name){ .id = 203, .seq = 1, .text = "half" };
	assert_int_equal(watch_inspect(&m, t, &found, &totals), 0);
	assert_string_equal(watch_model_name(&m, &m.rows[200], called), "conn?41");
	for (int i = 201; i < 204; i++)
		assert_string_equal(watch_model_name(&m, &m.rows[i], called), "");
	region.header->allocated_count = UINT32_MAX; // whatever it says: our own bounds count
	assert_int_equal(watch_inspect(&m, t, &found, &totals), 0);
	assert_true(m.n <= region.stations_max);
	region.ext->image++; // an exec
	assert_int_equal(watch_inspect(&m, t, &found, &totals), -ESTALE);
	watch_threads_free(t);
	watch_model_deinit(&m);
}

static void what_a_thread_used_is_whose_turn_it_was(void **state)
{
	struct watch_threads *t;
	struct ctp_thread *row = put_thread(2, (uint32_t)gettid(), 1000);
	row->current = 7;
	row->switches = 5;
	assert_int_equal(watch_threads_new(&t, &found), 0);
	assert_int_equal(watch_threads_sample(t), 0);
	struct watch_totals begin, now;
	watch_threads_totals(t, &begin);
	do { // until the kernel has counted some of it
		assert_int_equal(watch_threads_sample(t), 0);
		watch_threads_totals(t, &now);
	} while (now.cpu_ns == begin.cpu_ns);
	size_t n;
	const struct watch_ran *ran = watch_threads_take(t, &n);
	assert_int_equal(n, 1);
	assert_int_equal(ran->id, 7);
	assert_int_equal(ran->cpu_ns, now.cpu_ns);
	assert_true(ran->slice_ns > 0);
	row->current = 1000; // its own stack is no coroutine
	assert_int_equal(watch_threads_sample(t), 0);
	watch_threads_take(t, &n);
	assert_int_equal(n, 0);
	watch_threads_free(t);
}

// ---------------------------------------------------------------- last events

static struct ctp_record *slot(uint32_t thread, uint64_t at)
{
	return ctp_region_ring(&region, thread) + (at & (SLOTS - 1));
}

// A switch in two slots, as the first of a thread, or as one that says from where ids count.
static void long_switch(struct ctp_thread *t, uint32_t thread, uint64_t time, uint64_t from, uint64_t to, uint32_t from_n, uint32_t to_n, bool mark)
{
	ctp_record_set(slot(thread, t->head), slot(thread, t->head + 1), time, ctp_w1(CTP_EV_SWITCH, CTP_HOW_SWAP, from) | (uint64_t)mark << 56,
		       ctp_w2(to, 11), from_n | (uint64_t)to_n << 32);
	t->head += 2;
}

static void short_switch(struct ctp_thread *t, uint32_t thread, uint64_t time, uint64_t to, uint64_t to_n)
{
	ctp_record_set_short(slot(thread, t->head), time, CTP_HOW_SWAP, to, 12, to_n);
	t->head++;
}

static void newest_first_with_its_numbers(void **state)
{
	struct watch_last l;
	struct ctp_thread *t = put_thread(0, 77, 1000);
	ctp_record_set(slot(0, 0), slot(0, 1), 100, ctp_w1(CTP_EV_THREAD, 0, 1000), 0, 77);
	ctp_record_set(slot(0, 2), slot(0, 3), 110, ctp_w1(CTP_EV_CREATE, 0, 5), ctp_w2(1000, 3), 0x1234);
	t->head = 4;
	long_switch(t, 0, 120, 1000, 5, 2, 1, true);
	ctp_record_set(slot(0, 6), slot(0, 7), 125, ctp_w1(CTP_EV_FD_OPEN, CTP_CALL_OPEN, 5), ctp_w2(0, 4), 9 | 3ULL << 32);
	t->head = 8;
	short_switch(t, 0, 130, CTP_SHORT_NATIVE, 3); // 5 leaves, with number 2
	short_switch(t, 0, 140, 6, 1);                // nobody's business
	short_switch(t, 0, 150, 5, 3);                // 6 enters 5
	assert_int_equal(watch_last_read(&l, &found, 5, 3), 0);
	assert_int_equal(l.n, 5);
	assert_int_equal(l.v[0].n, 3);
	assert_true(l.v[0].went_on);
	assert_int_equal(l.v[0].other, 6);
	assert_int_equal(l.v[0].ns, 150);
	assert_int_equal(l.v[0].tid, 77);
	assert_int_equal(l.v[1].n, 2);
	assert_false(l.v[1].went_on);
	assert_int_equal(l.v[1].other, 1000);
	assert_int_equal(l.v[1].stack, 12);
	assert_int_equal(l.v[2].kind, CTP_EV_FD_OPEN);
	assert_int_equal(l.v[2].fd, 9);
	assert_int_equal(l.v[2].gen, 3);
	assert_int_equal(l.v[3].n, 1);
	assert_int_equal(l.v[4].kind, CTP_EV_CREATE);
	assert_int_equal(l.v[4].other, 1000);
	assert_int_equal(watch_last_read(&l, &found, 99, 8), 0);
	assert_int_equal(l.n, 0);
}

static void one_that_moved_between_threads(void **state)
{
	struct watch_last l;
	struct ctp_thread *a = put_thread(0, 77, 1000), *b = put_thread(1, 78, 1001);
	long_switch(a, 0, 100, 1000, 5, 2, 1, true);
	short_switch(a, 0, 110, CTP_SHORT_NATIVE, 3);
	long_switch(b, 1, 105, 1001, 5, 2, 3, true); // its clock runs behind: the numbers say what came first
	short_switch(b, 1, 106, CTP_SHORT_NATIVE, 3);
	assert_int_equal(watch_last_read(&l, &found, 5, 4), 0);
	assert_int_equal(l.n, 4);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(l.v[i].n, 4 - i);
	assert_int_equal(l.v[0].tid, 78);
	assert_int_equal(l.v[3].tid, 77);
}

static void a_ring_that_went_round(void **state)
{
	struct watch_last l;
	struct ctp_thread *t = put_thread(0, 77, 1000);
	long_switch(t, 0, 100, 1000, 5, 2, 1, true);
	for (uint64_t n = 2; n < 1000; n += 2) { // the first of them are overwritten, their beginning among them
		short_switch(t, 0, 100 + n, CTP_SHORT_NATIVE, n + 1);
		short_switch(t, 0, 101 + n, 5, n + 1);
	}
	assert_true(t->head > 2 * SLOTS);
	assert_int_equal(watch_last_read(&l, &found, 5, 999), 0);
	assert_int_equal(l.n, WATCH_LAST);
	for (unsigned i = 0; i < WATCH_LAST; i++) {
		assert_int_equal(l.v[i].n, 999 - i);
		assert_int_equal(l.v[i].other, 1000);
	}
	t->near = CTP_NEAR_UNSURE; // from where its ids count is not known any more: nobody is named by guess
	assert_int_equal(watch_last_read(&l, &found, 5, 999), 0);
	assert_int_equal(l.n, 0);
	long_switch(t, 0, 2000, 5, 1000, 1000, 1001, false);
	assert_int_equal(watch_last_read(&l, &found, 5, 1000), 0);
	assert_int_equal(l.n, 1);
	assert_int_equal(l.v[0].n, 1000);
}

static void damage_in_a_ring(void **state)
{
	struct watch_last l;
	struct ctp_thread *t = put_thread(0, 77, 1000);
	srandom(1);
	for (unsigned i = 0; i < SLOTS; i++)
		*slot(0, i) = (struct ctp_record){ (uint64_t)random() << 32 ^ (uint64_t)random(), (uint64_t)random() << 32 ^ (uint64_t)random() };
	for (uint64_t head = 0; head < 4 * SLOTS; head += 7) {
		t->head = head;
		assert_int_equal(watch_last_read(&l, &found, 5, 1000), 0);
		assert_true(l.n <= WATCH_LAST);
	}
	t->head = UINT64_MAX;
	assert_int_equal(watch_last_read(&l, &found, 5, 1000), 0);
	region.ext->thread_high = UINT32_MAX;
	assert_int_equal(watch_last_read(&l, &found, 5, 1000), 0);
}

static void chunks_of_a_flight(void **state)
{
	struct watch_last l;
	region.ext->options |= CTP_OPT_FLIGHT;
	region.ext->chunks = 4;
	found.header = *region.header;
	struct ctp_chunk *chunks = (struct ctp_chunk *)(region.rings + 4 * CTP_CHUNK_BYTES);
	struct ctp_thread *t = put_thread(0, 77, 1000);
	for (unsigned c = 0; c < 3; c++) {
		struct ctp_record *s = (struct ctp_record *)(region.rings + c * CTP_CHUNK_BYTES);
		uint64_t n = 1 + 2 * c;
		ctp_record_set(s, s + 1, 100 * c + 10, ctp_w1(CTP_EV_SWITCH, CTP_HOW_SWAP, 1000) | (uint64_t)CTP_MARK_NEAR << 56, ctp_w2(5, 1),
			       8 | n << 32);
		ctp_record_set_short(s + 2, 100 * c + 20, CTP_HOW_SWAP, CTP_SHORT_NATIVE, 2, 9);
		chunks[c] = (struct ctp_chunk){ .seq = 2, .ready = 1, .first = c * CTP_CHUNK_SLOTS, .tid = 77, .used = 3, .native = 1000 };
	}
	chunks[2].seq = 1; // the thread is at it
	t->head = 2 * CTP_CHUNK_SLOTS + 3;
	chunks[1].ready = 9; // being taken anew
	assert_int_equal(watch_last_read(&l, &found, 5, 6), 0);
	assert_int_equal(l.n, 4);
	assert_int_equal(l.v[0].n, 6);
	assert_int_equal(l.v[1].n, 5);
	assert_int_equal(l.v[2].n, 2);
	assert_int_equal(l.v[3].n, 1);
}

// Between the reader's copies of the chunks and of its head, the thread leaves its chunk with one slot unused: that
// has a record of an older lap.
static void leaves_early(const void *from)
{
	struct ctp_thread *t = &region.threads[0];
	struct ctp_chunk *chunks = (struct ctp_chunk *)(region.rings + 4 * CTP_CHUNK_BYTES);
	if (from != &t->head || t->head == CTP_CHUNK_SLOTS)
		return;
	chunks[0].used = CTP_CHUNK_SLOTS - 1;
	chunks[0].seq++;
	t->head = CTP_CHUNK_SLOTS;
}

static void a_chunk_that_ends_early(void **state)
{
	struct watch_last l;
	region.ext->options |= CTP_OPT_FLIGHT;
	region.ext->chunks = 4;
	found.header = *region.header;
	struct ctp_chunk *chunks = (struct ctp_chunk *)(region.rings + 4 * CTP_CHUNK_BYTES);
	struct ctp_thread *t = put_thread(0, 77, 1000);
	struct ctp_record *s = (struct ctp_record *)region.rings;
	ctp_record_set(s, s + 1, 10, ctp_w1(CTP_EV_SWITCH, CTP_HOW_SWAP, 1000) | (uint64_t)CTP_MARK_NEAR << 56, ctp_w2(5, 1), 8 | 1ULL << 32);
	ctp_record_set_short(s + 2, 20, CTP_HOW_SWAP, CTP_SHORT_NATIVE, 2, 9);
	ctp_record_set_short(s + CTP_CHUNK_SLOTS - 1, 5, CTP_HOW_SWAP, 5, 2, 7);
	chunks[0] = (struct ctp_chunk){ .seq = 1, .ready = 1, .tid = 77, .native = 1000 };
	t->head = CTP_CHUNK_SLOTS - 1;
	before_read = leaves_early;
	int e = watch_last_read(&l, &found, 5, 9);
	before_read = NULL;
	assert_int_equal(e, 0);
	assert_int_equal(t->head, CTP_CHUNK_SLOTS);
	assert_int_equal(l.n, 2);
	assert_int_equal(l.v[0].n, 2);
	assert_int_equal(l.v[1].n, 1);
}

// --------------------------------------------------------------- stacks in use

static void lowest_word_in_use(void **state)
{
	enum { BYTES = 4 << 20 };
	struct watch_use u;
	char *stack = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t lo = (uintptr_t)stack, hi = lo + BYTES;
	assert_ptr_not_equal(stack, MAP_FAILED);
	assert_int_equal(madvise(stack, BYTES, MADV_NOHUGEPAGE), 0);
	watch_use_open(&u, &found);
	assert_int_equal(watch_use_bytes(&u, lo, hi), 0);
	stack[BYTES - 1] = 1;
	assert_int_equal(watch_use_bytes(&u, lo, hi), 8);
	stack[BYTES - 9000] = 1;
	assert_int_equal(watch_use_bytes(&u, lo, hi), 9000);
	assert_int_equal(((volatile char *)stack)[BYTES - 200000], 0); // a page that was read is there, and means nothing
	assert_int_equal(watch_use_bytes(&u, lo, hi), 9000);
	for (unsigned at = 0; at < BYTES; at += 4096)
		stack[at] = 0; // filled in advance: a bound, and it does not read all of it
	assert_true(watch_use_bytes(&u, lo, hi) <= BYTES - (1 << 20));
	assert_true(watch_use_bytes(&u, lo, hi) >= 9000);
	assert_int_equal(watch_use_bytes(&u, hi, lo), -1);
	assert_int_equal(watch_use_bytes(&u, 0, UINT64_MAX), -1);
	watch_use_close(&u);
	assert_int_equal(watch_use_bytes(&u, lo, hi), -1);
	munmap(stack, BYTES);
}

// -------------------------------------------------------------------- findings

#define LOOK(co, changes, p3, p6) "{\"v\":1,\"ns\":5,\"rule\":\"CTP001\",\"coroutine\":" co ",\"changes\":" changes \
	",\"fd\":12,\"gen\":1,\"fd_kind\":\"tcp\",\"fd_name\":\"a\\u001bb\",\"evidence\":[" \
	"{\"id\":\"P0\",\"holds\":true,\"text\":\"zero\"},{\"id\":\"P2\",\"holds\":true,\"text\":\"two\"}," \
	"{\"id\":\"P3\",\"holds\":" p3 ",\"text\":\"three\"},{\"id\":\"P4\",\"holds\":true,\"text\":\"four\"}," \
	"{\"id\":\"P6a\",\"holds\":" p6 ",\"text\":\"six\"}]}"

static void append(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void what_ctp_run_finds_while_it_runs(void **state)
{
	struct watch_proofs *p;
	char dir[] = "/tmp/ctp-watch-XXXXXX", path[64];
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/witness.jsonl", dir);
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	found.engine = getpid(); // that has it open
	assert_int_equal(watch_proofs_new(&p, &found), 0);
	assert_int_equal(watch_proofs_read(p), 0);
	assert_true(proofs_any(watch_proofs_found(p)));
	append(fd, LOOK("5", "8", "true", "null") "\nno JSON\n[1]\n{\"v\":1}\n{\"coroutine\":6,\"changes\":4,");
	assert_int_equal(watch_proofs_read(p), 0);
	const struct proofs_one *f = proofs_of(watch_proofs_found(p), 5, 8);
	assert_non_null(f);
	assert_false(f->shown);
	assert_string_equal(f->what, "fd 12#1 (tcp a?b)");
	assert_string_equal(f->lines, "+P0   zero\n+P2   two\n+P3   three\n+P4   four\n?P6a  six\n");
	assert_null(proofs_of(watch_proofs_found(p), 5, 9)); // it has gone on
	assert_null(proofs_of(watch_proofs_found(p), 6, 4)); // its line is not whole yet
	append(fd, "\"evidence\":[]}\n");
	assert_int_equal(watch_proofs_read(p), 0);
	assert_non_null(proofs_of(watch_proofs_found(p), 6, 4));
	append(fd, LOOK("5", "8", "true", "true") "\n" LOOK("5", "8", "true", "null") "\n");
	assert_int_equal(watch_proofs_read(p), 0);
	assert_true(proofs_of(watch_proofs_found(p), 5, 8)->shown); // a later look that saw less takes nothing back
	assert_int_equal(proofs_of(watch_proofs_found(p), 5, 8)->so_far, SO_FAR_OPEN);
	append(fd, "{\"v\":1,\"coroutine\":5,\"changes\":8,\"fd\":12,\"gen\":1,\"fd_kind\":\"tcp\",\"fd_name\":\"a\\u001bb\","
		   "\"so_far\":\"proven\",\"evidence\":[]}\n");
	assert_int_equal(watch_proofs_read(p), 0);
	assert_int_equal(proofs_of(watch_proofs_found(p), 5, 8)->so_far, SO_FAR_PROVEN);
	append(fd, LOOK("5", "8", "false", "null") "\n");
	assert_int_equal(watch_proofs_read(p), 0);
	assert_false(proofs_of(watch_proofs_found(p), 5, 8)->shown); // one that saw the contrary does
	assert_int_equal(proofs_of(watch_proofs_found(p), 5, 8)->so_far, SO_FAR_OPEN);

	struct watch_row rows[3] = { { .there = true, .c = { .id = 5, .changes = 8, .life = CTP_SUSPENDED, .nwaits = 1, .waits = { { 12, 1 } } } },
				     { .there = true, .c = { .id = 7, .changes = 8, .life = CTP_SUSPENDED, .nwaits = 1, .waits = { { 12, 2 } } } },
				     { .there = true, .c = { .id = 8, .changes = 8, .life = CTP_RUNNING } } };
	struct watch_model m = { .rows = rows, .n = 3 };
	struct watch_count counts[2];
	region.cands[0] = (struct ctp_cand){ .ready = CTP_CAND_READY, .kind = CTP_CAND_CLOSE, .fd = 12, .gen = 1 };
	region.cands[1] = (struct ctp_cand){ .ready = CTP_CAND_FREE, .kind = CTP_CAND_CLOSE, .fd = 12, .gen = 2 };
	assert_int_equal(watch_proofs_mark(p, &m, 2, counts, 2), 1);
	assert_string_equal(counts[0].rule, "CTP001");
	assert_int_equal(counts[0].n, 1);
	assert_int_equal(counts[0].shown, 0);
	assert_int_equal(m.closed, 1);
	assert_true(rows[0].closed && !rows[1].closed);
	watch_proofs_free(p);
	close(fd);
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(from_look_to_look, make_region, drop_region),
		cmocka_unit_test_setup_teardown(what_a_thread_used_is_whose_turn_it_was, make_region, drop_region),
		cmocka_unit_test_setup_teardown(newest_first_with_its_numbers, make_region, drop_region),
		cmocka_unit_test_setup_teardown(one_that_moved_between_threads, make_region, drop_region),
		cmocka_unit_test_setup_teardown(a_ring_that_went_round, make_region, drop_region),
		cmocka_unit_test_setup_teardown(damage_in_a_ring, make_region, drop_region),
		cmocka_unit_test_setup_teardown(chunks_of_a_flight, make_region, drop_region),
		cmocka_unit_test_setup_teardown(a_chunk_that_ends_early, make_region, drop_region),
		cmocka_unit_test_setup_teardown(lowest_word_in_use, make_region, drop_region),
		cmocka_unit_test_setup_teardown(what_ctp_run_finds_while_it_runs, make_region, drop_region),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
