// SPDX-License-Identifier: MIT
//
// What leads to what, in numbers; and which bytes count as an address.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/mman.h>
#include <unistd.h>

#include "engine/memory/graph.h"
#include "engine/memory/scan.h"

// Three objects, the first of two spans; before the second and behind the third lie points.
enum { A = 0x10000, A2 = 0x20000, B = 0x30000, C = 0x40000, SIZE = 0x100 };
static struct graph g;

static int begin(void **state)
{
	(void)state;
	struct graph_part p[] = {
		{{C, C + SIZE}, 2, false}, {{A, A + SIZE}, 0, false}, {{B, B + SIZE}, 1, false}, {{A2, A2 + SIZE}, 0, false},
		{{B - 8, 0}, 1, true}, {{C + SIZE, 0}, 2, true},
	};
	return graph_init(&g, 3, p, sizeof(p) / sizeof(*p));
}

static int end(void **state)
{
	(void)state;
	graph_deinit(&g);
	return 0;
}

static bool reached(uint32_t node)
{
	return g.reached[graph_group(&g, node)];
}

static void nothing_leads_to_any(void **state)
{
	(void)state;
	assert_true(graph_spread(&g));
	assert_false(reached(0) || reached(1) || reached(2));
}

static void one_word_from_outside(void **state)
{
	(void)state;
	graph_word(&g, 0x5000, A2 + 8);
	assert_true(graph_spread(&g));
	assert_true(reached(0));
	assert_false(reached(1) || reached(2));
	assert_int_equal(graph_edge_to(&g, graph_group(&g, 0), 0)->at, 0x5000);
	assert_null(graph_edge_to(&g, graph_group(&g, 0), 1));
}

static void what_is_reached_leads_on(void **state)
{
	(void)state;
	graph_word(&g, A + 16, B);          // from the one to the next, in an order that takes two steps
	graph_word(&g, B + 16, C + SIZE);   // by the point behind it
	graph_word(&g, 0x5000, A);
	assert_true(graph_spread(&g));
	assert_true(reached(0) && reached(1) && reached(2));
}

static void two_objects_lead_to_a_third(void **state)
{
	(void)state;
	graph_word(&g, A + 16, C);
	graph_word(&g, B + 16, C);
	graph_word(&g, 0x5000, B);
	assert_true(graph_spread(&g));
	assert_true(reached(1) && reached(2));
	assert_false(reached(0));
}

static void those_that_lead_to_each_other_alone(void **state)
{
	(void)state;
	graph_word(&g, A + 16, B - 8);
	graph_word(&g, B + 16, C);
	graph_word(&g, C + 16, A);
	graph_word(&g, A + 24, A2); // to itself
	assert_true(graph_spread(&g));
	assert_false(reached(0) || reached(1) || reached(2));
	g.reached[graph_group(&g, 1)] = true; // by a register
	free(g.to);
	free(g.first_to);
	assert_true(graph_spread(&g));
	assert_true(reached(0) && reached(1) && reached(2));
}

static void what_a_value_leads_to(void **state)
{
	uint32_t owners[GRAPH_OWNERS];
	(void)state;
	assert_int_equal(graph_owners(&g, B - 8, owners), 1);
	assert_int_equal(graph_owners(&g, B - 7, owners), 0);
	assert_int_equal(graph_owners(&g, B, owners), 1);
	assert_int_equal(graph_owners(&g, B + SIZE - 1, owners), 1);
	assert_int_equal(graph_owners(&g, B + SIZE, owners), 0);
	assert_int_equal(graph_owners(&g, C + SIZE, owners), 1);
	assert_false(graph_has(&g, C + SIZE)); // but what stands there is not the object's
	assert_true(graph_has(&g, C + SIZE - 1));
}

// ---------------------------------------------------------------- searching

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

static struct scan a_scan(void)
{
	hits = 0;
	return (struct scan){.pid = getpid(), .targets = &target, .ntargets = 1, .deadline_ns = UINT64_MAX, .hit = on_hit};
}

static unsigned found(size_t n, size_t at, uint64_t word, size_t bytes)
{
	unsigned char b[64] = {0};
	struct scan s = a_scan();
	memcpy(b + at, &word, bytes);
	scan_bytes(&s, b, n, 0);
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
	struct proc_maps maps = {.v = &m, .n = 1};
	m.perms[3] = perms;
	memset(two, 0, 8192);
	memcpy(two + at, &word, sizeof(word));
	hits = 0;
	assert_int_equal(scan_run(s, &maps), 0);
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
	assert_int_equal(found_in(two, 'p', 64, ADDRESS >> 3, &s), 1); // moved to the right
	assert_int_equal(found_in(two, 'p', 64, (ADDRESS & ~15ULL) >> 4, &s), 1);
	assert_int_equal(found_in(two, 'p', 64, ADDRESS >> 5, &s), 0);
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
}

// Memory is read in pieces of a megabyte.
static void a_word_across_two_pieces(void **state)
{
	(void)state;
	enum { PIECE = 1 << 20 };
	unsigned char *two = mmap(NULL, 2 * PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(two, MAP_FAILED);
	struct maps_line m = {.lo = (uintptr_t)two, .hi = (uintptr_t)two + 2 * PIECE, .perms = "rw-s", .path = ""};
	struct proc_maps maps = {.v = &m, .n = 1};
	struct scan s = a_scan();
	uint64_t word = ADDRESS;
	memcpy(two + PIECE - 3, &word, sizeof(word));
	assert_int_equal(scan_run(&s, &maps), 0);
	assert_true(hits > 0);
	munmap(two, 2 * PIECE);
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
	struct proc_maps maps = {.v = &m, .n = 1};
	struct scan s = a_scan();
	assert_int_equal(scan_run(&s, &maps), 0);
	assert_int_equal(hits, 1);
	munmap((void *)two, 8192);
	fclose(f);
}

static void a_hole_is_no_answer(void **state)
{
	(void)state;
	unsigned char *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(two, MAP_FAILED);
	struct maps_line m = {.lo = (uintptr_t)two, .hi = (uintptr_t)two + 8192, .perms = "rw-s", .path = ""};
	struct proc_maps maps = {.v = &m, .n = 1};
	struct scan s = a_scan();
	two[0] = 1;
	munmap(two + 4096, 4096);
	assert_true(scan_run(&s, &maps) < 0);
	munmap(two, 4096);
	s.deadline_ns = 1; // no time
	assert_true(scan_run(&s, &maps) < 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_leads_to_any), TEST(one_word_from_outside), TEST(what_is_reached_leads_on),
		TEST(two_objects_lead_to_a_third), TEST(those_that_lead_to_each_other_alone), TEST(what_a_value_leads_to), cmocka_unit_test(words_in_bytes),
		cmocka_unit_test(words_in_memory), cmocka_unit_test(a_word_across_two_pieces), cmocka_unit_test(a_page_of_a_file), cmocka_unit_test(a_hole_is_no_answer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
