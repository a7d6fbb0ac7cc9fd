// SPDX-License-Identifier: MIT
//
// Which bytes count as an address, and which memory is read for them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "search/mark/block.h"
#include "search/mark/scan.h"

static unsigned hits;
static uint64_t hit_at, hit_address;

static void on_hit(void *ctx, uint64_t at, uint64_t address)
{
	(void)ctx;
	hits++;
	hit_at = at;
	hit_address = address;
}

static const struct span target = {0x7f1234560000, 0x7f1234570000};
#define ADDRESS (target.lo + 0x1238)

static struct memory memory;

// Of this process; memory_close ends it.
static struct scan a_scan(void)
{
	hits = 0;
	memory_of_process(&memory, getpid());
	memory.deadline_ns = UINT64_MAX;
	return (struct scan){.memory = &memory, .targets = &target, .ntargets = 1, .hit = on_hit};
}

static int run(struct scan *s, const struct maps_line *m)
{
	memory.maps = m;
	memory.nmaps = 1;
	return scan_run(s);
}

static unsigned found(size_t n, size_t at, uint64_t word, size_t bytes)
{
	unsigned char b[64] = {0};
	struct scan s = a_scan();
	memcpy(b + at, &word, bytes);
	scan_bytes(&s, b, n, 0);
	memory_close(&memory);
	return hits;
}

static void words_in_bytes(void **state)
{
	(void)state;
	assert_int_equal(found(64, 0, ADDRESS, 8), 1);
	assert_int_equal(found(64, 13, ADDRESS | 0xabcdULL << 48, 8), 1); // with a tag, anywhere
	assert_int_equal(found(64, 56, ADDRESS, 8), 1);
	assert_int_equal(found(62, 56, ADDRESS, 6), 1); // without its upper bytes
	assert_int_equal(found(64, 8, target.hi, 8), 0);
	assert_int_equal(found(64, 8, target.lo - 1, 8), 0);
	assert_int_equal(found(64, 8, target.hi - 1, 8), 1);
}

// This process's own memory: one mapping of two pages. What is found of `word`, where it stands.
static unsigned found_in(unsigned char *two, char perms, size_t at, uint64_t word, struct scan *s)
{
	struct maps_line m = {.lo = (uintptr_t)two, .hi = (uintptr_t)two + 8192, .perms = "rw-p", .path = ""};
	m.perms[3] = perms;
	memset(two, 0, 8192);
	memcpy(two + at, &word, sizeof(word));
	hits = 0;
	assert_int_equal(run(s, &m), 0);
	return hits;
}

static void words_in_memory(void **state)
{
	(void)state;
	unsigned char *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(two, MAP_FAILED);
	struct scan s = a_scan();
	assert_int_equal(found_in(two, 'p', 64, ADDRESS, &s), 1);
	assert_int_equal(hit_at, (uintptr_t)two + 64);
	assert_int_equal(hit_address, ADDRESS);
	assert_int_equal(found_in(two, 'p', 8184, ADDRESS, &s), 1);
	assert_int_equal(found_in(two, 'p', 4093, ADDRESS, &s), 1); // across a page
	assert_int_equal(found_in(two, 's', 71, ADDRESS | 0xffffULL << 48, &s), 1);
	assert_int_equal(found_in(two, 'p', 64, ADDRESS >> 3, &s), 0); // disguised.c looks for that
	assert_int_equal(found_in(two, 'p', 64, target.hi, &s), 0);
	s.guard = 0x123456789abcdef0;
	s.rotate = 0x11;
	uint64_t hidden = ADDRESS ^ s.guard;
	assert_int_equal(found_in(two, 'p', 64, hidden << 0x11 | hidden >> 47, &s), 1); // as glibc keeps it in a jmp_buf
	struct span skip = {(uintptr_t)two + 64, (uintptr_t)two + 128};
	s.skip = &skip;
	s.nskip = 1;
	assert_int_equal(found_in(two, 'p', 72, ADDRESS, &s), 0);
	assert_int_equal(found_in(two, 'p', 128, ADDRESS, &s), 1);
	assert_int_equal(found_in(two, 'p', 56, ADDRESS, &s), 1);
	munmap(two, 8192);
	memory_close(&memory);
}

// Memory is read in pieces of a megabyte.
static void a_word_across_two_pieces(void **state)
{
	(void)state;
	enum { PIECE = 1 << 20 };
	unsigned char *two = mmap(NULL, 2 * PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(two, MAP_FAILED);
	struct maps_line m = {.lo = (uintptr_t)two, .hi = (uintptr_t)two + 2 * PIECE, .perms = "rw-s", .path = ""};
	struct scan s = a_scan();
	uint64_t word = ADDRESS;
	memcpy(two + PIECE - 3, &word, sizeof(word));
	assert_int_equal(run(&s, &m), 0);
	assert_true(hits > 0);
	munmap(two, 2 * PIECE);
	memory_close(&memory);
}

// The page of a file that the program may write, and has not: what is in it counts.
static void a_page_of_a_file(void **state)
{
	(void)state;
	uint64_t word = ADDRESS;
	FILE *f = tmpfile();
	assert_int_equal(ftruncate(fileno(f), 8192), 0);
	assert_int_equal(pwrite(fileno(f), &word, sizeof(word), 4096), sizeof(word));
	volatile unsigned char *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(f), 0);
	assert_ptr_not_equal(two, MAP_FAILED);
	assert_int_equal(two[4096], word & 0xff);
	struct maps_line m = {.lo = (uintptr_t)two, .hi = (uintptr_t)two + 8192, .perms = "rw-p", .ino = 1, .path = "/file"};
	struct scan s = a_scan();
	assert_int_equal(run(&s, &m), 0);
	assert_int_equal(hits, 1);
	munmap((void *)two, 8192);
	fclose(f);
	memory_close(&memory);
}

// A gigabyte of shared memory, of which two pages are in use: one was written through the mapping, one by
// another. What was not is not made by the search. (Without rights to ask for its file, the other's is not seen.)
static void holes_stay_holes(void **state)
{
	(void)state;
	const size_t bytes = 1UL << 30;
	uint64_t word = ADDRESS;
	struct stat st;
	int fd = memfd_create("holes", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	unsigned char *all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(all, MAP_FAILED);
	memcpy(all + (300 << 20) + 8, &word, sizeof(word));
	assert_int_equal(pwrite(fd, &word, sizeof(word), (700L << 20) + 16), sizeof(word));
	assert_int_equal(fstat(fd, &st), 0);
	long blocks = st.st_blocks;
	struct maps_line m = {.lo = (uintptr_t)all, .hi = (uintptr_t)all + bytes, .perms = "rw-s", .ino = st.st_ino,
			      .path = "/memfd:holes (deleted)"};
	struct scan s = a_scan();
	int r = run(&s, &m);
	int file = memory_open_sparse(&memory, &m);
	assert_int_equal(r, file >= 0 ? 0 : -EIO);
	assert_int_equal(hits, file >= 0 ? 2 : 1);
	assert_true(s.bytes < 1 << 20);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_blocks, blocks);
	if (file >= 0)
		close(file);
	close(fd);
	munmap(all, bytes);
	memory_close(&memory);
}

static void a_hole_is_no_answer(void **state)
{
	(void)state;
	unsigned char *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(two, MAP_FAILED);
	struct maps_line m = {.lo = (uintptr_t)two, .hi = (uintptr_t)two + 8192, .perms = "rw-s", .path = ""};
	struct scan s = a_scan();
	two[0] = 1;
	munmap(two + 4096, 4096);
	assert_int_equal(run(&s, &m), -EIO);
	m.hi -= 4096;
	memory.deadline_ns = 1; // no time
	assert_int_equal(run(&s, &m), -EAGAIN);
	munmap(two, 4096);
	memory_close(&memory);
}

static bool never(void *ctx)
{
	return ++*(unsigned *)ctx > 2;
}

// Whoever asks for a search can end it at any time.
static void a_search_can_be_cancelled(void **state)
{
	(void)state;
	enum { MEGABYTE = 1 << 20 };
	unsigned asked = 0;
	char *all = mmap(NULL, 8 * MEGABYTE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(all, MAP_FAILED);
	struct maps_line m = {.lo = (uintptr_t)all, .hi = (uintptr_t)all + 8 * MEGABYTE, .perms = "rw-s", .path = ""};
	struct scan s = a_scan();
	memory.cancelled = never;
	memory.ctx = &asked;
	assert_int_equal(run(&s, &m), -EAGAIN);
	assert_int_equal(asked, 3);
	munmap(all, 8 * MEGABYTE);
	memory_close(&memory);
}

static void spans_are_put_in_order(void **state)
{
	(void)state;
	struct span v[] = {{30, 40}, {10, 20}, {50, 50}, {35, 45}, {20, 25}};
	assert_int_equal(spans_tidy(v, 5), 2);
	assert_true(v[0].lo == 10 && v[0].hi == 25 && v[1].lo == 30 && v[1].hi == 45);
	assert_int_equal(scan_find(v, 2, 24), 0);
	assert_int_equal(scan_find(v, 2, 25), 2);
	assert_int_equal(scan_find(v, 2, 44), 1);
}

// The first look at 64 bytes says what a look at each byte would.
static void blocks(void **state)
{
	unsigned char b[BLOCK_BYTES + 8];
	uint64_t r = 1;
	(void)state;
	for (int n = 0; n < 20000; n++) {
		for (size_t i = 0; i < sizeof(b); i++) {
			r = r * 6364136223846793005 + 1442695040888963407;
			b[i] = (r >> 33) % 11 < 9 ? 0 : (unsigned char)((r >> 40) % 3);
		}
		uint64_t pairs = 0;
		bool bits = false;
		unsigned shift = (unsigned)n % 49;
		for (size_t i = 0; i < BLOCK_BYTES; i++)
			pairs |= (uint64_t)(b[i] == 1 && b[i + 1] == 2) << i;
		for (size_t i = 0; i < BLOCK_BYTES; i += 8)
			bits |= (block_word(b + i) >> shift & 0xffff) == 0x0102;
		assert_int_equal(block_pairs(b, 1, 2), pairs);
		assert_int_equal(block_has_bits(b, shift, 0x0102), bits);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks),
		cmocka_unit_test(words_in_bytes), cmocka_unit_test(words_in_memory), cmocka_unit_test(a_word_across_two_pieces),
		cmocka_unit_test(a_page_of_a_file), cmocka_unit_test(a_hole_is_no_answer), cmocka_unit_test(holes_stay_holes), cmocka_unit_test(a_search_can_be_cancelled),
		cmocka_unit_test(spans_are_put_in_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
