// SPDX-License-Identifier: MIT
//
// A nested message is preceded by its length. One byte is reserved for that; the few
// messages of 128 bytes or more are moved when they end.
#include "base/protobuf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VARINT_MAX 10

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

void protobuf_deinit(struct protobuf *p)
{
	free(p->bytes);
	*p = (struct protobuf){0};
}

// Room for n more bytes. False: there is none.
static int has_room(struct protobuf *p, size_t n)
{
	if (p->error || p->n + n <= p->capacity)
		return !p->error;
	size_t want = (p->n + n) * 2;
	uint8_t *more = realloc(p->bytes, want);
	if (!more) {
		p->error = -ENOMEM;
		return 0;
	}
	p->bytes = more;
	p->capacity = want;
	return 1;
}

static size_t put_varint(uint8_t *to, uint64_t v)
{
	size_t n = 0;
	for (; v >= 0x80; v >>= 7)
		to[n++] = (uint8_t)(v | 0x80);
	to[n++] = (uint8_t)v;
	return n;
}

static void put_tag(struct protobuf *p, unsigned field, unsigned wire)
{
	p->n += put_varint(p->bytes + p->n, (uint64_t)field << 3 | wire);
}

void protobuf_uint(struct protobuf *p, unsigned field, uint64_t v)
{
	if (!has_room(p, 2 * VARINT_MAX))
		return;
	put_tag(p, field, WIRE_VARINT);
	p->n += put_varint(p->bytes + p->n, v);
}

void protobuf_fixed64(struct protobuf *p, unsigned field, uint64_t v)
{
	if (!has_room(p, VARINT_MAX + 8))
		return;
	put_tag(p, field, WIRE_FIXED64);
	for (unsigned i = 0; i < 8; i++)
		p->bytes[p->n++] = (uint8_t)(v >> 8 * i);
}

void protobuf_bytes(struct protobuf *p, unsigned field, const void *v, size_t n)
{
	if (!has_room(p, 2 * VARINT_MAX + n))
		return;
	put_tag(p, field, WIRE_BYTES);
	p->n += put_varint(p->bytes + p->n, n);
	if (n)
		memcpy(p->bytes + p->n, v, n);
	p->n += n;
}

void protobuf_string(struct protobuf *p, unsigned field, const char *v)
{
	protobuf_bytes(p, field, v, strlen(v));
}

size_t protobuf_begin(struct protobuf *p, unsigned field)
{
	if (!has_room(p, VARINT_MAX + 1))
		return 0;
	put_tag(p, field, WIRE_BYTES);
	return ++p->n;
}

void protobuf_end(struct protobuf *p, size_t at)
{
	uint8_t length[VARINT_MAX];
	if (!has_room(p, VARINT_MAX))
		return;
	size_t bytes = p->n - at, n = put_varint(length, bytes);
	if (n > 1)
		memmove(p->bytes + at + n - 1, p->bytes + at, bytes);
	memcpy(p->bytes + at - 1, length, n);
	p->n += n - 1;
}
