// SPDX-License-Identifier: MIT
//
// SEEK_DATA finds pages that were written, swapped ones too, and allocates none. On a file
// system that cannot tell, every page counts as written.
#include "ctp/there.h"

#include <errno.h>
#include <unistd.h>

#include "ctp/seq.h"

// Kept for the next question. What follows on a known stretch makes that one longer: a table that grows is
// asked about its new pages alone.
static void know(struct ctp_there *t, uint64_t from, uint64_t to)
{
	for (unsigned i = 0; i < CTP_THERE_KNOWN; i++)
		if (from == t->known[i].to && from > t->known[i].from) {
			t->known[i].to = to;
			return;
		}
	t->known[t->next].from = from;
	t->known[t->next].to = to;
	t->next = (t->next + 1) % CTP_THERE_KNOWN;
}

// The stretch that is there, at `off` or behind it. False: none is, up to `end`.
static bool stretch(struct ctp_there *t, uint64_t off, uint64_t end, uint64_t *from, uint64_t *to)
{
	for (unsigned i = 0; i < CTP_THERE_KNOWN; i++)
		if (off >= t->known[i].from && off < t->known[i].to) {
			*from = off;
			*to = t->known[i].to;
			return true;
		}
	off_t data = lseek(t->fd, (off_t)off, SEEK_DATA);
	if ((data < 0 && errno == ENXIO) || data >= (off_t)end)
		return false; // before the end of a stretch is looked for, which takes as long as it is
	off_t hole = data < 0 ? -1 : lseek(t->fd, data, SEEK_HOLE);
	*from = data < 0 ? off : (uint64_t)data;
	*to = hole < 0 ? end : (uint64_t)hole;
	if (hole > data)
		know(t, *from, *to);
	return *to > *from;
}

bool ctp_there_all(const struct ctp_region *r, const void *at, uint64_t bytes)
{
	uint64_t off = (uint64_t)((const unsigned char *)at - r->base), end = off + bytes, from, to;
	while (r->there && off < end) {
		if (!stretch(r->there, off, end, &from, &to) || from > off)
			return false;
		off = to;
	}
	return true;
}

bool ctp_there(const struct ctp_region *r, const void *at)
{
	return ctp_there_all(r, at, 1);
}

struct ctp_walk ctp_walk(const struct ctp_region *r, const void *table, size_t each, uint64_t n)
{
	return (struct ctp_walk){
		.there = r->there,
		.off = (uint64_t)((const unsigned char *)table - r->base),
		.each = each,
		.n = n,
		.upto = r->there ? 0 : n,
	};
}

struct ctp_walk ctp_walk_states(const struct ctp_region *r)
{
	uint32_t n = ctp_load32(&r->header->allocated_count);
	return ctp_walk(r, r->states, sizeof(*r->states), n < r->stations_max ? n : r->stations_max);
}

struct ctp_walk ctp_walk_fds(const struct ctp_region *r)
{
	uint64_t high = ctp_load64(&r->ext->fd_high);
	return ctp_walk(r, r->fds, sizeof(*r->fds), high < r->fds_max ? high + 1 : r->fds_max);
}

struct ctp_walk ctp_walk_incidents(const struct ctp_region *r)
{
	return ctp_walk(r, r->incidents, sizeof(*r->incidents), r->incidents_max);
}

// A row is there if its first byte is: whoever fills one in begins there.
uint64_t ctp_walk_seek(struct ctp_walk *w, uint64_t i)
{
	uint64_t from, to, end = w->off + w->n * w->each;
	while (i < w->n) {
		if (!stretch(w->there, w->off + i * w->each, end, &from, &to))
			break;
		uint64_t first = from > w->off ? (from - w->off + w->each - 1) / w->each : 0;
		w->upto = (to - w->off + w->each - 1) / w->each;
		w->upto = w->upto < w->n ? w->upto : w->n;
		i = first > i ? first : i;
		if (i < w->upto)
			return i;
	}
	return w->n;
}
