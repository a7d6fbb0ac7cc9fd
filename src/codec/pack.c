// SPDX-License-Identifier: MIT
//
// Packs a packet: what could not be predicted (predict.c) is sorted into planes of
// similar bytes, and each plane is one zstd block, so that it has codes of its own.
// Any slots come out as they went in. Of damaged input no slot is handed out.
#include "codec/pack.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "codec/predict.h"

enum { LEVEL = 1 };
#define SLOTS_MOST (PACK_MOST / sizeof(struct ctp_record))
#define CONTENT_MOST (sizeof(struct content) + 25 * SLOTS_MOST + 16) // all of plane_most

struct content { // and behind it the planes
	uint64_t unit;
	uint32_t bytes[PLANES], reserved;
};
_Static_assert(sizeof(struct content) == 40, "spec/trace.md");

struct pack {
	ZSTD_CCtx *to;
	ZSTD_DCtx *from;
	struct foresight *foresight;
	struct ctp_record slots[SLOTS_MOST];
	unsigned char content[CONTENT_MOST + 8];
	unsigned char packed[PACK_MOST];
};

struct pack *pack_new(void)
{
	struct pack *p = malloc(sizeof(*p));
	struct foresight *f = predict_new();
	if (!p || !f) {
		free(p);
		predict_free(f);
		return NULL;
	}
	p->to = NULL;
	p->from = NULL;
	p->foresight = f;
	return p;
}

void pack_free(struct pack *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->to);
	ZSTD_freeDCtx(p->from);
	predict_free(p->foresight);
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

static bool put(struct pack *p, ZSTD_outBuffer *out, const void *bytes, size_t n, bool last)
{
	ZSTD_inBuffer in = {bytes, n, 0};
	size_t left = ZSTD_compressStream2(p->to, out, &in, last ? ZSTD_e_end : ZSTD_e_flush);
	return !left; // an error is not 0, nor is what found no room
}

size_t pack_write(struct pack *p, const struct ctp_record *slots, size_t n, const void **out)
{
	struct content head = {.reserved = 0};
	struct planes planes;
	unsigned char *begin[PLANES], *at = p->content;
	if (!n || n > SLOTS_MOST || !ready(p))
		return 0;
	for (unsigned i = 0; i < PLANES; i++) {
		planes.at[i] = begin[i] = at;
		at += plane_most(i, n);
	}
	predict_write(p->foresight, &planes, slots, n);
	head.unit = planes.unit;
	for (unsigned i = 0; i < PLANES; i++)
		head.bytes[i] = (uint32_t)(planes.end[i] - begin[i]);
	ZSTD_outBuffer to = {p->packed, n * sizeof(*slots) - 1, 0};
	ZSTD_CCtx_reset(p->to, ZSTD_reset_session_only);
	bool all = put(p, &to, &head, sizeof(head), false);
	for (unsigned i = 0; all && i < PLANES; i++)
		all = put(p, &to, begin[i], head.bytes[i], i == PLANES - 1);
	if (!all)
		return 0;
	*out = p->packed;
	return to.pos;
}

void *pack_room(struct pack *p, size_t bytes)
{
	return bytes <= sizeof(p->packed) ? p->packed : NULL;
}

const struct ctp_record *pack_read(struct pack *p, size_t bytes, size_t n)
{
	struct content head;
	struct planes planes;
	if (bytes > sizeof(p->packed) || !n || n > SLOTS_MOST || (!p->from && !(p->from = ZSTD_createDCtx())))
		return NULL;
	size_t got = ZSTD_decompressDCtx(p->from, p->content, CONTENT_MOST, p->packed, bytes);
	if (ZSTD_isError(got) || got < sizeof(head))
		return NULL;
	memcpy(&head, p->content, sizeof(head));
	unsigned char *at = p->content + sizeof(head);
	got -= sizeof(head);
	for (unsigned i = 0; i < PLANES; i++) {
		if (head.bytes[i] > got)
			return NULL;
		planes.at[i] = at;
		planes.end[i] = at += head.bytes[i];
		got -= head.bytes[i];
	}
	planes.unit = head.unit;
	return !got && predict_read(p->foresight, &planes, p->slots, n) ? p->slots : NULL;
}
