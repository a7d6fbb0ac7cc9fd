// SPDX-License-Identifier: MIT
//
// Words and text that look like keys or encrypted data; how many of them a finding needs; and numbers that names
// write out.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sys/mman.h>
#include <unistd.h>

#include "ctp/rules.h"
#include "engine/stored/apart_text.h"
#include "engine/memory/opaque.h"
#include "search/opaque/hash_code.h"
#include "search/opaque/opaque_words.h"

static uint64_t random_state = 0x9e3779b97f4a7c15;

static uint64_t random_word(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t word_of(double value)
{
	uint64_t word;
	memcpy(&word, &value, sizeof(word));
	return word;
}

static void words(void **state)
{
	(void)state;
	unsigned n = 0;
	for (int i = 0; i < 1000; i++)
		n += opaque_word(random_word());
	assert_in_range(n, 800, 1000);
	assert_false(opaque_word(0x7f12d6f0a4e0));
	assert_false(opaque_word(-1234567890123));
	assert_false(opaque_word(0x004d30d0f434cc11)); // cycles
	assert_false(opaque_word(0x12d6f0a400000007)); // two numbers
	assert_false(opaque_word(0x9c3e03809c3dff71)); // of a row of numbers of 32 bits
	assert_false(opaque_word(word_of(0.1)));
	assert_false(opaque_word(word_of(-1e15 / 3)));
	assert_false(opaque_word(0x3f99999a40490fdb)); // two floats
	assert_false(opaque_word(0x034f435e5c030149)); // of text that was compared
	uint64_t text;
	memcpy(&text, "GET /\r\nH", sizeof(text));
	assert_false(opaque_word(text));
}

static unsigned text_of(const char *text)
{
	return opaque_text((const unsigned char *)text, strlen(text));
}

static void text(void **state)
{
	(void)state;
	assert_int_equal(text_of("mF9zK2qXw7A"), 1);
	assert_int_equal(text_of("9f3a1c77d0e4b513"), 1);
	assert_int_equal(text_of("8f14e45f-9a3c-4d1e-b2f7-6c0a5d8e3f91"), 3);
	assert_int_equal(text_of("libstdc++"), 0);
	assert_int_equal(text_of("/lib/x86_64-linux-gnu/libc"), 0);
	assert_int_equal(text_of("swapcontext"), 0);
	assert_int_equal(text_of("140720551474400"), 0);
	assert_int_equal(text_of("2026-11-28"), 0);
	assert_int_equal(text_of("7f74d5000000-7f74d580000"), 0); // part of a line of /proc/self/maps
	assert_int_equal(text_of("a1b2c3"), 0); // too short to tell
	assert_int_equal(text_of("11180023344501234567"), 1);
	assert_int_equal(text_of("1795816800123456789"), 0); // a time
	assert_int_equal(text_of("21180023344501234567"), 0); // more than 64 bits
	assert_int_equal(text_of("0123456789abcdef"), 0);
}

// However a random number is written out, nearly all are seen: most of a few tickets must be.
static void random_text(void **state)
{
	(void)state;
	static const char *const formats[] = {"%016lx", "%016lX", "%lu"};
	for (size_t k = 0; k < sizeof(formats) / sizeof(*formats); k++) {
		unsigned n = 0;
		char one[40];
		for (int i = 0; i < 1000; i++) {
			snprintf(one, sizeof(one), formats[k], (unsigned long)random_word());
			n += text_of(one) > 0;
		}
		assert_in_range(n, k == 2 ? 800 : 950, 1000);
	}
}

// ------------------------------------------------------------------- of a finding

enum { SUSPECTS = 3, MANY = 9, PAGE = 4096, PAGES = 4 };
static struct suspect suspects[MANY], *who[MANY];
static struct registration row;
static struct inspection l;
static struct search s;
static struct memory memory;
static struct maps_line map;
static uint64_t *page;

static uint64_t begin(unsigned i)
{
	return 0x123400010000 + 0x10000u * i;
}

static void open_case_of(unsigned n)
{
	struct graph_part parts[MANY];
	page = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	memset(page, 0, PAGES * PAGE);
	map = (struct maps_line){.lo = (uintptr_t)page, .hi = (uintptr_t)page + PAGES * PAGE, .perms = "rw-p", .path = ""};
	memory_of_process(&memory, getpid());
	memory.maps = &map;
	memory.nmaps = 1;
	memory.deadline_ns = UINT64_MAX;
	s = (struct search){.nodes = n, .memory = &memory, .bytes = PAGES * PAGE};
	l = (struct inspection){.who = who, .n = n};
	for (unsigned i = 0; i < n; i++) {
		parts[i] = (struct graph_part){{begin(i), begin(i) + 64}, i, false};
		who[i] = &suspects[i];
		suspects[i] = (struct suspect){.rule = RULE_LOST_WAKEUP, .nmine = 1, .c.fd = -1};
	}
	assert_int_equal(graph_init(&s.g, n, parts, n), 0);
}

static void open_case(void)
{
	open_case_of(SUSPECTS);
}

static uint64_t found(uint64_t apart)
{
	assert_true(graph_spread(&s.g));
	struct opaque o = opaque_find(&l, &s, apart);
	assert_null(o.why);
	graph_deinit(&s.g);
	memory_close(&memory);
	munmap(page, PAGES * PAGE);
	return o.words;
}

static void put(unsigned n)
{
	for (unsigned i = 0, k = 0; k < n; i++) {
		uint64_t word = random_word();
		if (opaque_word(word))
			page[2 * k++ + 3] = word;
	}
}

static void of_findings(void **state)
{
	(void)state;
	open_case();
	put(3);
	assert_int_equal(found(0), 3);
	open_case();
	put(1); // too few: each of the three needs one
	assert_int_equal(found(0), 0);
	open_case();
	put(2); // the first leads to the others
	graph_word(&s.g, begin(0) + 8, begin(1));
	graph_word(&s.g, begin(1) + 8, begin(2));
	assert_int_equal(found(0), 2);
	open_case();
	put(1); // may be a library's
	graph_word(&s.g, begin(0) + 8, begin(1));
	graph_word(&s.g, begin(1) + 8, begin(2));
	assert_int_equal(found(0), 0);
	open_case();
	put(1);
	assert_int_equal(found(2), 2); // two in a pipe
	open_case();
	put(3);
	for (unsigned i = 0; i < SUSPECTS; i++)
		suspects[i].rule = RULE_PARKED;
	assert_int_equal(found(0), 0);
	open_case();
	put(3);
	graph_word(&s.g, begin(5), begin(0)); // from outside: a word leads to it
	graph_word(&s.g, begin(5), begin(1));
	graph_word(&s.g, begin(5), begin(2));
	assert_int_equal(found(0), 0);
	open_case();
	put(2);
	page[3] = ((uintptr_t)page + 0x4e8) | 0xfffaULL << 48; // a tag, and an address of something else
	assert_int_equal(found(0), 0);
	open_case();
	snprintf((char *)page, 64, "%lx-%lx", (unsigned long)map.lo, (unsigned long)map.hi); // a line of /proc/self/maps
	snprintf((char *)page + PAGE, 64, "%lx", (unsigned long)map.lo + 0x4e8);
	assert_int_equal(found(0), 0);
	open_case();
	strcpy((char *)page, "9f3a1c77d0e4-b513a2");
	strcpy((char *)page + PAGE, "9f3a1c77d0e4");
	assert_int_equal(found(0), 2);
	open_case();
	put(2);
	s.bytes = 1 << 30; // so much memory has some anyway
	assert_int_equal(found(0), 0);
}

// Some random words look like numbers.
static void one_in_four_is_enough(void **state)
{
	(void)state;
	open_case_of(6);
	put(2);
	assert_int_equal(found(0), 2);
	open_case_of(MANY);
	put(2);
	assert_int_equal(found(0), 0);
	open_case_of(MANY);
	put(3);
	assert_int_equal(found(0), 3);
	open_case_of(MANY);
	put(2); // the first leads to all others, which need none
	for (unsigned i = 1; i < MANY; i++)
		graph_word(&s.g, begin(0) + 8, begin(i));
	assert_int_equal(found(0), 2);
}

static void in_the_kernel(void **state)
{
	(void)state;
	open_case();
	row = (struct registration){.events = 1, .data = 0x9b1c2a77d0e4f513};
	l.registrations.v = &row;
	l.registrations.n = 1;
	s.bytes = 1 << 30;
	suspects[1].nmine = suspects[2].nmine = 0;
	assert_int_equal(found(0), 1);
	open_case();
	row.data = begin(7);
	l.registrations.v = &row;
	l.registrations.n = 1;
	assert_int_equal(found(0), 0);
}

static void long_rows(void **state)
{
	(void)state;
	open_case();
	s.bytes = PAGES * PAGE;
	for (unsigned i = 0; i < PAGES * PAGE / sizeof(*page); i++)
		page[i] = random_word();
	assert_int_equal(found(0), 0);
}

// As libstdc++ 12 prints std::hash<std::string>.
static void hash_codes(void **state)
{
	(void)state;
	static const char *const texts[] = {"", "a", "/index.html", "session-0000000017", "exactly8", "a text of 26 characters..."};
	static const uint64_t codes[] = {0x553e93901e462a6e, 0x454ddee488c1ed6b, 0x5ee33d6c3c6da7d2, 0xfbdf90f87ef1045e, 0xbc769552f7635847, 0xabee03c6d8fafcc0};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(hash_code_of((const unsigned char *)texts[i], strlen(texts[i])), codes[i]);
	open_case();
	for (unsigned i = 0; i < 4; i++) { // four nodes: next, text, length, short text, value, code
		uint64_t *node = page + 16 * i;
		strcpy((char *)(node + 3), texts[2]);
		((char *)(node + 3))[0] = (char)('0' + i);
		node[1] = (uintptr_t)(node + 3);
		node[2] = strlen(texts[2]);
		node[9] = hash_code_of((unsigned char *)(node + 3), node[2]);
	}
	assert_int_equal(found(0), 0);
	open_case();
	for (unsigned i = 0; i < 4; i++) { // of no text
		page[16 * i + 1] = (uintptr_t)page;
		page[16 * i + 2] = 11;
		page[16 * i + 9] = hash_code_of((const unsigned char *)texts[i + 2], strlen(texts[i + 2]));
	}
	assert_int_equal(found(0), 4);
}

// ------------------------------------------------------------------- names

static uint64_t wanted;
static unsigned seen;

static void on_number(void *ctx, uint64_t number)
{
	(void)ctx;
	seen += number == wanted;
}

static unsigned in_name(const char *name)
{
	seen = 0;
	apart_text((const unsigned char *)name, strlen(name), on_number, NULL);
	return seen > 0;
}

static void names(void **state)
{
	(void)state;
	wanted = 0x7f12d6f0a4e0;
	assert_int_equal(in_name("/tmp/spool/7f12d6f0a4e0"), 1);
	assert_int_equal(in_name("w7f12d6f0a4e0"), 1);
	assert_int_equal(in_name("W-7F12D6F0A4E0.tmp"), 1);
	assert_int_equal(in_name("task 139718892233952"), 1);
	assert_int_equal(in_name("d7clln6cse7a"), 0);
	assert_int_equal(in_name("7f12d6f0a4e1"), 0);
	assert_int_equal(in_name("7f12d6f0a4e07"), 0);
}

static unsigned in_file(const char *text)
{
	seen = 0;
	apart_numbers((const unsigned char *)text, strlen(text), on_number, NULL);
	return seen;
}

static void numbers(void **state)
{
	(void)state;
	wanted = 0x7f12d6f0a4e0;
	assert_int_equal(in_file("{\"handle\": 139718892233952, \"n\": 3}"), 1);
	assert_int_equal(in_file("id139718892233952\n"), 1);
	assert_int_equal(in_file("0x7f12d6f0a4e0, 1"), 1);
	assert_int_equal(in_file("session=7F12D6F0A4E0"), 1);
	assert_int_equal(in_file("00007f12d6f0a4e0"), 1);
	assert_int_equal(in_file("7f12d6f0a4e07"), 0);
	assert_int_equal(in_file("1397188922339520"), 0);
	assert_int_equal(in_file("13971889223395"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),     cmocka_unit_test(text), cmocka_unit_test(random_text),     cmocka_unit_test(of_findings), cmocka_unit_test(one_in_four_is_enough), cmocka_unit_test(in_the_kernel),
		cmocka_unit_test(long_rows), cmocka_unit_test(hash_codes), cmocka_unit_test(names),
		cmocka_unit_test(numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
