// SPDX-License-Identifier: MIT
//
// After three encodings (of the landing pads' base, of types, of call sites) there is a row for each range of
// calls: begin, length, landing pad (0: none), action.
#include "find/pads.h"

#include <string.h>

enum { OMITTED = 0xff, ULEB = 1, FOUR_BYTES = 3 };

struct cursor {
	const uint8_t *at, *end;
	bool failed;
};

static uint64_t take_uleb(struct cursor *c)
{
	uint64_t v = 0;
	for (unsigned shift = 0; c->at < c->end && shift < 64; shift += 7) {
		uint8_t b = *c->at++;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
	c->failed = true;
	return 0;
}

static uint64_t take(struct cursor *c, uint8_t encoding)
{
	uint32_t v = 0;
	if (encoding == ULEB)
		return take_uleb(c);
	if (encoding != FOUR_BYTES || c->end - c->at < 4) {
		c->failed = true;
		return 0;
	}
	memcpy(&v, c->at, 4);
	c->at += 4;
	return v;
}

static uint8_t take_byte(struct cursor *c)
{
	c->failed |= c->at >= c->end;
	return c->failed ? 0 : *c->at++;
}

bool pads_read(const uint8_t *table, size_t bytes, uint64_t lo, uint64_t pads[PADS_MOST], size_t *n)
{
	struct cursor c = {table, table + bytes, false};
	*n = 0;
	if (take_byte(&c) != OMITTED)
		return false;
	if (take_byte(&c) != OMITTED)
		take_uleb(&c);
	uint8_t encoding = take_byte(&c);
	uint64_t length = take_uleb(&c);
	if (c.failed || length > (size_t)(c.end - c.at))
		return false;
	c.end = c.at + length;
	while (!c.failed && c.at < c.end) {
		take(&c, encoding);
		take(&c, encoding);
		uint64_t pad = take(&c, encoding);
		take_uleb(&c);
		if (pad && *n == PADS_MOST)
			return false;
		if (pad && !c.failed)
			pads[(*n)++] = lo + pad;
	}
	return !c.failed;
}
