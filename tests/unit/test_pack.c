// SPDX-License-Identifier: MIT
//
// Packed packets: whatever slots go in come out, records are packed well below four bytes, and of
// bytes that were changed, cut or made up nothing is handed out.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctp/pack.h"
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
	assert_int_equal(pack_write(a, slots, 0, &out), 0);
	assert_int_equal(pack_write(a, slots, MOST + 1, &out), 0);
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
		cmocka_unit_test(test_damaged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
