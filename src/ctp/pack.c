// SPDX-License-Identifier: MIT
//
// Slots that follow each other differ little: each is written as what is new in it against
// the last of its kind (first slots of a record, and second ones), and the 16 bytes of all of
// them stand in columns. Then zstd finds what little there is. What comes in may be anything:
// any slots come out as they went in, and of damaged bytes nothing is handed out.
#include "ctp/pack.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "ctp/record.h"
#include "ctp/ring.h"

enum { COLUMNS = sizeof(struct ctp_record), LEVEL = 1 };
#define SLOTS_MOST (PACK_MOST / sizeof(struct ctp_record))

struct pack {
	ZSTD_CCtx *to;
	ZSTD_DCtx *from;
	struct ctp_record slots[SLOTS_MOST];
	unsigned char columns[PACK_MOST];
	unsigned char packed[ZSTD_COMPRESSBOUND(PACK_MOST)];
};

// The slots before: of those that begin a record, and of those that end one.
struct before {
	struct ctp_record last[2];
	bool second; // what comes next
};

static void go_on(struct before *b, const struct ctp_record *r)
{
	b->last[b->second] = *r;
	b->second = !b->second && ctp_kind_is_long(ctp_record_kind(r));
}

// Of a record's first word the time counts from the last one's, the kind stays. The same
// there and back, but for the sign.
static struct ctp_record differ(const struct before *b, const struct ctp_record *r, uint64_t sign)
{
	const struct ctp_record *last = &b->last[b->second];
	struct ctp_record d = { r->w0 ^ last->w0, r->w1 ^ last->w1 };
	if (!b->second)
		d.w0 = ((r->w0 >> 8) + sign * (last->w0 >> 8)) << 8 | (r->w0 & 0xff);
	return d;
}

static void to_columns(unsigned char *columns, const struct ctp_record *slots, size_t n)
{
	struct before b = { .second = false };
	for (size_t i = 0; i < n; i++) {
		struct ctp_record d = differ(&b, &slots[i], -1ULL);
		go_on(&b, &slots[i]);
		for (unsigned k = 0; k < 8; k++) {
			columns[k * n + i] = (unsigned char)(d.w0 >> 8 * k);
			columns[(8 + k) * n + i] = (unsigned char)(d.w1 >> 8 * k);
		}
	}
}

static void from_columns(struct ctp_record *slots, const unsigned char *columns, size_t n)
{
	struct before b = { .second = false };
	for (size_t i = 0; i < n; i++) {
		struct ctp_record d = { 0 };
		for (unsigned k = 0; k < 8; k++) {
			d.w0 |= (uint64_t)columns[k * n + i] << 8 * k;
			d.w1 |= (uint64_t)columns[(8 + k) * n + i] << 8 * k;
		}
		slots[i] = differ(&b, &d, 1);
		go_on(&b, &slots[i]);
	}
}

struct pack *pack_new(void)
{
	struct pack *p = malloc(sizeof(*p));
	if (p)
		p->to = NULL, p->from = NULL;
	return p;
}

void pack_free(struct pack *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->to);
	ZSTD_freeDCtx(p->from);
	free(p);
}

static bool ready(struct pack *p)
{
	if (!p->to && (p->to = ZSTD_createCCtx())) {
		ZSTD_CCtx_setParameter(p->to, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(p->to, ZSTD_c_checksumFlag, 1);
	}
	return p->to;
}

size_t pack_write(struct pack *p, const struct ctp_record *slots, size_t n, const void **out)
{
	size_t bytes = n * sizeof(*slots);
	if (!n || n > SLOTS_MOST || !ready(p))
		return 0;
	to_columns(p->columns, slots, n);
	size_t got = ZSTD_compress2(p->to, p->packed, sizeof(p->packed), p->columns, bytes);
	if (ZSTD_isError(got) || got >= bytes)
		return 0;
	*out = p->packed;
	return got;
}

void *pack_room(struct pack *p, size_t bytes)
{
	return bytes <= sizeof(p->packed) ? p->packed : NULL;
}

const struct ctp_record *pack_read(struct pack *p, size_t bytes, size_t n)
{
	if (bytes > sizeof(p->packed) || !n || n > SLOTS_MOST || (!p->from && !(p->from = ZSTD_createDCtx())))
		return NULL;
	size_t got = ZSTD_decompressDCtx(p->from, p->columns, sizeof(p->columns), p->packed, bytes);
	if (ZSTD_isError(got) || got != n * sizeof(*p->slots))
		return NULL;
	from_columns(p->slots, p->columns, n);
	return p->slots;
}
