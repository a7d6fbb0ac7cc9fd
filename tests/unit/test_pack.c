// SPDX-License-Identifier: MIT
//
// Packed packets: whatever slots go in come out, what can be foreseen costs next to nothing and what cannot
// a few bytes, and of bytes that were changed, cut or made up nothing is handed out.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

#include "codec/pack.h"
#include "ctp/record.h"

#define MOST (PACK_MOST / sizeof(struct ctp_record))

static struct ctp_record slots[MOST];

static uint64_t next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	return *x ^= *x << 17;
}

// Switches among `who` entities in no order, with times that jitter; some records of two slots between them.
static void fill(size_t n, uint64_t who, uint64_t seed)
{
	uint64_t x = seed, time = 1ULL << 55;
	for (size_t i = 0; i < n; i++) {
		time += 300 + next(&x) % 64;
		uint64_t kind = next(&x) % 50 ? CTP_EV_SHORT + CTP_HOW_SWAP : CTP_EV_CREATE;
		slots[i] = (struct ctp_record){ time << 8 | kind, next(&x) % who | 5ULL << 22 | i / who << 42 };
		if (kind == CTP_EV_CREATE && ++i < n)
			slots[i] = (struct ctp_record){ CTP_EV_REST | (uint64_t)i << 16, 0x7f0000001000 };
	}
}

static const struct ctp_record *there_and_back(struct pack *from, const void *bytes, size_t count, size_t n)
{
	void *to = pack_room(from, count);
	assert_non_null(to);
	memcpy(to, bytes, count);
	return pack_read(from, count, n);
}

static void test_round_trip(void **state)
{
	struct pack *a = pack_new(), *b = pack_new();
	const void *out;
	static const size_t counts[] = { 64, 1000, 4096, MOST - 1, MOST };
	for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		fill(counts[i], 1000, i + 1);
		size_t bytes = pack_write(a, slots, counts[i], &out);
		assert_true(bytes > 0 && bytes < counts[i] * sizeof(*slots));
		assert_true(counts[i] < 1000 || bytes < counts[i] * 5);
		const struct ctp_record *got = there_and_back(b, out, bytes, counts[i]);
		assert_non_null(got);
		assert_memory_equal(got, slots, counts[i] * sizeof(*slots));
	}
	pack_free(a);
	pack_free(b);
}

// Bytes that are no records at all: as they were, or said not to become less.
static void test_any_bytes(void **state)
{
	struct pack *a = pack_new();
	const void *out;
	uint64_t x = 7;
	for (unsigned round = 0; round < 200; round++) {
		size_t n = 1 + next(&x) % 3000, bytes;
		for (size_t i = 0; i < n; i++)
			slots[i] = (struct ctp_record){ next(&x) & (round % 2 ? 0x1f : -1ULL), next(&x) & (round % 4 ? 0xff : -1ULL) };
		bytes = pack_write(a, slots, n, &out);
		if (!bytes)
			continue;
		const struct ctp_record *got = pack_read(a, bytes, n);
		assert_non_null(got);
		assert_memory_equal(got, slots, n * sizeof(*slots));
	}
	out = NULL;
	assert_int_equal(pack_write(a, slots, 2, &out), 0);
	assert_null(out);
	assert_int_equal(pack_write(a, slots, 0, &out), 0);
	assert_int_equal(pack_write(a, slots, MOST + 1, &out), 0);
	pack_free(a);
}

static size_t packed_bytes(struct pack *a, size_t n)
{
	const void *out;
	size_t bytes = pack_write(a, slots, n, &out);
	const struct ctp_record *got = pack_read(a, bytes, n);
	assert_non_null(got);
	assert_memory_equal(got, slots, n * sizeof(*slots));
	return bytes;
}

static struct ctp_record short_switch(uint64_t time, uint64_t to, uint64_t stack, uint64_t number)
{
	return (struct ctp_record){ time << 8 | (CTP_EV_SHORT + CTP_HOW_SWAP), to | stack << 22 | number << 42 };
}

// A scheduler and its coroutines, in turn or in an order that is the same each time; from the second turn on, or where
// each is the last one's neighbour, all but the times is foreseen.
static void test_foreseen(void **state)
{
	struct pack *a = pack_new();
	static const uint64_t steps[][2] = { { 1, 20 }, { 1, 6000 }, { 37, 100 } }; // to whom next, and among how many
	for (unsigned k = 0; k < sizeof(steps) / sizeof(*steps); k++) {
		for (uint64_t i = 0, who = 0; i < 8000; i += 2, who = (who + steps[k][0]) % steps[k][1]) {
			uint64_t lap = i / 2 / steps[k][1];
			slots[i] = short_switch(i * 500, 10 + who, 3, 2 * lap + 1);
			slots[i + 1] = short_switch(i * 500 + 500, 5, 7, i + 2);
		}
		size_t bytes = packed_bytes(a, 8000);
		assert_true(bytes < (k == 2 ? 800 : 400));
	}
	pack_free(a);
}

// Times that are multiples of a unit take as much room as the multiples, whatever the unit; a step to another clock,
// or back in time, is kept as it is, and costs what it costs alone.
static void test_units(void **state)
{
	struct pack *a = pack_new();
	static const uint64_t units[] = { 1, 26, 38, 64, 1000, 999999937 };
	size_t bytes[sizeof(units) / sizeof(*units)];
	for (unsigned k = 0; k < sizeof(units) / sizeof(*units); k++) {
		uint64_t x = 5, time = 3;
		for (uint64_t i = 0; i < 8000; i++) {
			time += (30 + next(&x) % 32) * units[k] + (i == 3000) * 17 - (i == 6000) * 5 * units[k] * 100;
			slots[i] = short_switch(time & ((1ULL << 56) - 1), i % 2 ? 5 : 6, 3, (i & ~1ULL) + 2);
		}
		bytes[k] = packed_bytes(a, 8000);
		assert_true(bytes[k] < 8000 && bytes[k] < bytes[0] + 60);
	}
	pack_free(a);
}

// Every kind, in every field all and no bits: each way of a number.
static void test_extremes(void **state)
{
	struct pack *a = pack_new();
	const void *out;
	size_t n = 0;
	for (unsigned kind = 0; kind < 256; kind++)
		for (unsigned shift = 0; shift < 64; shift++) {
			uint64_t w = 1ULL << shift | (shift % 3 ? 0 : ~0ULL << shift);
			slots[n++] = (struct ctp_record){ w << 8 | kind, w };
			slots[n++] = (struct ctp_record){ shift % 2 ? w : CTP_EV_REST | w << 8, ~w };
		}
	for (size_t part = 1; part <= n; part *= 2) {
		size_t bytes = pack_write(a, slots + n - part, part, &out);
		const struct ctp_record *got = bytes ? pack_read(a, bytes, part) : slots + n - part;
		assert_non_null(got);
		assert_memory_equal(got, slots + n - part, part * sizeof(*slots));
	}
	pack_free(a);
}

// A frame in which all is as zstd wants it, and nothing as we do: heads that claim anything, planes of any bytes.
static void test_made_up(void **state)
{
	struct pack *a = pack_new();
	static unsigned char content[4000];
	uint64_t x = 11;
	for (unsigned round = 0; round < 4000; round++) {
		size_t n = 1 + next(&x) % 100, all = 40 + next(&x) % (sizeof(content) - 40), left = all - 40;
		uint32_t bytes[8] = { 0 };
		for (size_t i = 0; i < all; i++)
			content[i] = (unsigned char)(next(&x) >> 8) & (round % 3 ? 0xff : 0x3f);
		for (unsigned i = 0; i < 7; i++)
			left -= bytes[i] = i < 6 ? (uint32_t)(next(&x) % (left / 2 + 1)) : (uint32_t)left;
		if (round % 4 == 0)
			bytes[next(&x) % 7] = (uint32_t)next(&x);
		memcpy(content + 8, bytes, sizeof(bytes));
		if (round % 5 == 0)
			memset(content, 0, 8);
		void *to = pack_room(a, PACK_MOST);
		size_t got = ZSTD_compress(to, PACK_MOST, content, all, 1);
		pack_read(a, got, n);
		pack_read(a, got, MOST);
	}
	pack_free(a);
}

static void test_damaged(void **state)
{
	struct pack *a = pack_new(), *b = pack_new();
	const void *out;
	fill(2000, 100, 3);
	size_t bytes = pack_write(a, slots, 2000, &out);
	unsigned char *copy = malloc(bytes);
	memcpy(copy, out, bytes);
	for (size_t i = 0; i < bytes; i++) {
		copy[i] ^= (unsigned char)(1 + i % 255);
		const struct ctp_record *got = there_and_back(b, copy, bytes, 2000);
		assert_true(!got || !memcmp(got, slots, 2000 * sizeof(*slots))); // some bits of a frame mean nothing
		copy[i] ^= (unsigned char)(1 + i % 255);
		assert_null(there_and_back(b, copy, i, 2000));
	}
	assert_null(there_and_back(b, copy, bytes, 1999));
	assert_null(there_and_back(b, copy, bytes, 2001));
	assert_null(there_and_back(b, copy, bytes, SIZE_MAX / 16));
	assert_null(there_and_back(b, copy, bytes, 0));
	assert_null(pack_room(b, (size_t)1 << 32));
	assert_null(pack_read(b, (size_t)1 << 32, 2000));
	assert_non_null(there_and_back(b, copy, bytes, 2000));
	free(copy);
	pack_free(a);
	pack_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_any_bytes),
		cmocka_unit_test(test_foreseen),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_made_up),
		cmocka_unit_test(test_damaged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
