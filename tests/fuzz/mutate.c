// SPDX-License-Identifier: MIT
//
// One to sixteen changes of one seed: bits, bytes, numbers at the edges of their types, numbers in digits, pieces
// of it or of another seed copied over it or into it, pieces left out, an end cut off.
#include "mutate.h"

#include <string.h>

#include "fuzz.h"

struct random {
	uint64_t state;
};

// splitmix64
static uint64_t next(struct random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static size_t below(struct random *r, size_t n)
{
	return n ? (size_t)(next(r) % n) : 0;
}

static uint64_t edge(struct random *r)
{
	uint64_t power = 1ULL << below(r, 64);
	switch (below(r, 6)) {
	case 0:
		return below(r, 17);
	case 1:
		return power;
	case 2:
		return power - 1;
	case 3:
		return ~power + below(r, 3);
	case 4:
		return UINT64_MAX - below(r, 3);
	default:
		return next(r);
	}
}

static void put_number(struct random *r, unsigned char *data, size_t n)
{
	uint64_t v = edge(r), old = 0;
	size_t wide = (size_t)1 << below(r, 4);
	if (n < wide)
		return;
	size_t at = below(r, n - wide + 1);
	if (below(r, 3))
		at -= at % wide; // where numbers lie
	memcpy(&old, data + at, wide);
	if (below(r, 3) == 0)
		v = old + below(r, 33) - 16;
	memcpy(data + at, &v, wide);
}

// A number in digits, where there is one.
static size_t put_digits(struct random *r, unsigned char *data, size_t n)
{
	static const char *const numbers[] = { "0", "-1", "1", "18446744073709551615", "9223372036854775807", "-9223372036854775808", "4294967295",
					       "2147483648", "1e999", "0.5", "null", "\"\"", "[]", "{}", "true" };
	const char *new = numbers[below(r, sizeof(numbers) / sizeof(*numbers))];
	size_t at = below(r, n), from, new_n = strlen(new);
	while (at < n && (data[at] < '0' || data[at] > '9'))
		at++;
	from = at;
	while (at < n && data[at] >= '0' && data[at] <= '9')
		at++;
	if (from == at || n - (at - from) + new_n > FUZZ_MOST)
		return n;
	memmove(data + from + new_n, data + at, n - at);
	memcpy(data + from, new, new_n);
	return n - (at - from) + new_n;
}

// A piece of `from` over what is there, or, if there is room, into it.
static size_t put_piece(struct random *r, unsigned char *data, size_t n, const struct mutate_input *from)
{
	unsigned char piece[4096];
	size_t most = from->bytes < sizeof(piece) ? from->bytes : sizeof(piece);
	size_t bytes = below(r, below(r, 4) ? (most < 64 ? most : 64) : most) + 1, at = below(r, n + 1);
	if (!most || bytes > from->bytes)
		return n;
	memcpy(piece, from->data + below(r, from->bytes - bytes + 1), bytes);
	if (below(r, 2) && n + bytes <= FUZZ_MOST) {
		memmove(data + at + bytes, data + at, n - at);
		n += bytes;
	} else if (bytes > n - at) {
		bytes = n - at;
	}
	memcpy(data + at, piece, bytes);
	return n;
}

static size_t leave_out(struct random *r, unsigned char *data, size_t n)
{
	size_t at = below(r, n), bytes = below(r, below(r, 4) ? 64 : n) + 1;
	if (bytes > n - at)
		bytes = n - at;
	memmove(data + at, data + at + bytes, n - at - bytes);
	return n - bytes;
}

static size_t change(struct random *r, unsigned char *data, size_t n, const struct mutate_input *other)
{
	const struct mutate_input self = { data, n };
	size_t at = below(r, n);
	switch (n ? below(r, 12) : 8) {
	case 0:
		data[at] ^= (unsigned char)(1u << below(r, 8));
		return n;
	case 1:
		data[at] = (unsigned char)next(r);
		return n;
	case 2:
	case 3:
	case 4:
	case 5:
		put_number(r, data, n);
		return n;
	case 6:
	case 7:
		return put_digits(r, data, n);
	case 8:
		return put_piece(r, data, n, other);
	case 9:
		return put_piece(r, data, n, &self);
	case 10:
		return leave_out(r, data, n);
	default:
		return below(r, 4) ? n : below(r, n + 1);
	}
}

size_t mutate(unsigned char *out, const struct mutate_input *seeds, size_t nseeds, uint64_t n)
{
	struct random r = { n };
	next(&r);
	const struct mutate_input *seed = &seeds[below(&r, nseeds)];
	size_t bytes = seed->bytes;
	memcpy(out, seed->data, bytes);
	for (size_t changes = (size_t)1 << below(&r, 5); changes-- > 0;)
		bytes = change(&r, out, bytes, &seeds[below(&r, nseeds)]);
	return bytes;
}
