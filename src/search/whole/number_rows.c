// SPDX-License-Identifier: MIT
//
// The last numbers of a row are kept, and at the end of each the parts are put together, in either order.
#include "search/whole/number_rows.h"

#include <stdbool.h>

#include "search/mark/scan.h"

enum {
	WORD = 8,
	ADDRESS = 47,
	KEPT = 16,
	GAP_MOST = 2,
	DIGITS_MOST = 10,
	THOUSAND = 1000,
	DECIMALS_LEAST = 11
};

struct number {
	uint64_t value[2]; // read as hexadecimal, as decimal
	uint64_t at;
	unsigned digits;
	bool decimal;
};

struct row {
	const struct number_rows *r;
	struct number v[KEPT]; // the last ones, in a circle
	unsigned n;            // in this row
};

// So many bits each, so many of them.
static const struct parts {
	unsigned bits, count;
} PARTS[] = {{4, 12}, {8, 6}, {16, 3}, {32, 2}};

static const struct number *last(const struct row *w, unsigned back)
{
	return &w->v[(w->n - 1 - back) % KEPT];
}

static void try_address(const struct row *w, unsigned count, uint64_t address)
{
	const struct number_rows *r = w->r;
	if (address % WORD == 0 && address >> ADDRESS == 0 &&
	    scan_find(r->targets, r->ntargets, address) < r->ntargets)
		r->hit(r->ctx, last(w, count - 1)->at, address);
}

static void try_parts(const struct row *w, const struct parts *p, bool decimal)
{
	uint64_t first_highest = 0, last_highest = 0;
	for (unsigned i = 0; i < p->count; i++) {
		const struct number *high = last(w, p->count - 1 - i), *low = last(w, i);
		if ((decimal && !high->decimal) || high->value[decimal] >> p->bits)
			return;
		first_highest = first_highest << p->bits | high->value[decimal];
		last_highest = last_highest << p->bits | low->value[decimal];
	}
	try_address(w, p->count, first_highest);
	try_address(w, p->count, last_highest);
}

// "140,732,901,123,072": all but the first part have three digits.
static void try_thousands(const struct row *w)
{
	enum { COUNT = 5, DIGITS = 3 };
	uint64_t address = 0;
	for (unsigned i = COUNT; w->n >= COUNT && i-- > 0;) {
		const struct number *v = last(w, i);
		if (!v->decimal || v->value[1] >= THOUSAND || (i < COUNT - 1 && v->digits != DIGITS))
			return;
		address = address * THOUSAND + v->value[1];
	}
	try_address(w, COUNT, address);
}

// "127.18.214.240:42208": four bytes and 16 bits, as an address of a network and a port.
static void try_port(const struct row *w)
{
	enum { BYTES = 4, BYTE = 8, PORT = 16 };
	uint64_t address = 0;
	for (unsigned i = BYTES; i > 0; i--) {
		if (!last(w, i)->decimal || last(w, i)->value[1] >> BYTE)
			return;
		address = address << BYTE | last(w, i)->value[1];
	}
	if (last(w, 0)->decimal && !(last(w, 0)->value[1] >> PORT))
		try_address(w, BYTES + 1, address << PORT | last(w, 0)->value[1]);
}

// A decimal digit each, as in text of 16 bits.
static void try_digits(const struct row *w)
{
	uint64_t address = 0, place = 1;
	for (unsigned i = 0; i < KEPT && i < w->n && last(w, i)->decimal && last(w, i)->digits == 1; i++) {
		address += last(w, i)->value[1] * place;
		place *= 10;
		if (i + 1 >= DECIMALS_LEAST && last(w, i)->value[1])
			try_address(w, i + 1, address);
	}
}

static void end_number(struct row *w)
{
	w->n++;
	for (size_t i = 0; i < sizeof(PARTS) / sizeof(*PARTS); i++)
		for (unsigned decimal = 0; w->n >= PARTS[i].count && decimal < 2; decimal++)
			try_parts(w, &PARTS[i], decimal);
	if (w->n >= 2)
		try_thousands(w);
	if (w->n >= 5)
		try_port(w);
	if (w->n >= DECIMALS_LEAST && last(w, 0)->digits == 1)
		try_digits(w);
}

static int digit(unsigned char c)
{
	return c >= '0' && c <= '9'                   ? c - '0' :
	       (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 :
							-1;
}

// May stand between two numbers of a row.
static bool is_between(unsigned char c)
{
	return c <= '~' && (c >= ' ' || !c || c == '\n' || c == '\t');
}

// The number that begins at b[i]: where it ends.
static size_t take(struct row *w, const unsigned char *b, size_t n, size_t i, uint64_t at)
{
	struct number v = {.at = at + i, .decimal = true};
	int d;
	for (; i < n && (d = digit(b[i])) >= 0; i++) {
		v.value[0] = v.value[0] << 4 | (unsigned)d;
		v.value[1] = v.value[1] * 10 + (unsigned)d;
		v.decimal &= d < 10;
		v.digits++;
	}
	if (v.digits > DIGITS_MOST) {
		w->n = 0;
		return i;
	}
	w->v[w->n % KEPT] = v;
	end_number(w);
	return i;
}

void number_rows_find(const struct number_rows *r, const unsigned char *b, size_t n, uint64_t at)
{
	struct row w = {.r = r};
	size_t gap = 0;
	for (size_t i = 0; r->ntargets && i < n;) {
		if (digit(b[i]) >= 0) {
			i = take(&w, b, n, i, at);
			gap = 0;
		} else {
			w.n = ++gap > GAP_MOST || !is_between(b[i]) ? 0 : w.n;
			i++;
		}
	}
}
