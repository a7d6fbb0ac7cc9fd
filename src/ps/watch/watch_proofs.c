// SPDX-License-Identifier: MIT
//
// Marks the rows of the screen: who waits for what was closed, as the region says, and about whom ctp-run
// has found something out (ps/read/proofs.c). It is not a verdict: ctp-analyze, which has the whole run,
// decides that.
#include "ps/watch/watch_proofs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"

enum { PIECE = 64 };

struct watch_proofs {
	const struct found *found;
	struct proofs *proofs;
	struct idmap ended; // descriptors that ended under a waiter: number and generation, to `closes`
	struct watch_ended *closes;
	size_t ncloses, closes_capacity;
};

int watch_proofs_new(struct watch_proofs **out, const struct found *f)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->found = f;
	int e = proofs_new(&(*out)->proofs, f->engine);
	if (e) {
		free(*out);
		*out = NULL;
	}
	return e;
}

void watch_proofs_free(struct watch_proofs *p)
{
	if (!p)
		return;
	proofs_free(p->proofs);
	free(p->closes);
	idmap_deinit(&p->ended);
	free(p);
}

const struct proofs *watch_proofs_found(const struct watch_proofs *p)
{
	return p->proofs;
}

int watch_proofs_read(struct watch_proofs *p)
{
	return proofs_read(p->proofs);
}

static uint64_t key(int32_t fd, uint32_t gen)
{
	return (uint64_t)(uint32_t)fd << 32 | gen;
}

// Without memory it counts as open until the next inspection.
static void add_ended(struct watch_proofs *p, const struct clock_pairs *clock, const struct ctp_cand *c)
{
	if (GROW(p->closes, p->ncloses, p->closes_capacity) ||
	    idmap_set(&p->ended, key(c->fd, c->gen), (uint32_t)p->ncloses))
		return;
	p->closes[p->ncloses++] = (struct watch_ended){
		.ns = clock_to_ns(clock, c->time), .closer = c->closer, .stack = c->closer_stack};
}

// What the guest has posted and ctp-run not yet put away.
static void read_ended(struct watch_proofs *p, uint32_t cands)
{
	const struct ctp_ext *x = &p->found->header.ext;
	struct ctp_cand rows[PIECE];
	uint64_t n = cands < x->cands_max ? cands : x->cands_max;
	struct clock_pairs clock;
	clock_adopt(&clock, x->clock_kind == CTP_CLOCK_TSC, x->clock_ticks0, x->clock_ns0);
	idmap_deinit(&p->ended);
	p->ncloses = 0;
	for (uint64_t at = 0; at < n; at += PIECE) {
		uint64_t some = n - at < PIECE ? n - at : PIECE;
		if (source_read(&p->found->region, x->cands_off + at * sizeof(*rows), rows,
				some * sizeof(*rows)))
			return;
		for (uint64_t i = 0; i < some; i++)
			if (rows[i].ready == CTP_CAND_READY && rows[i].kind == CTP_CAND_CLOSE)
				add_ended(p, &clock, &rows[i]);
	}
}

const struct watch_ended *watch_proofs_ended(const struct watch_proofs *p, int32_t fd, uint32_t gen)
{
	uint32_t at = idmap_get(&p->ended, key(fd, gen));
	return at == IDMAP_NONE ? NULL : &p->closes[at];
}

static bool waits_for_ended(const struct watch_proofs *p, const struct coroutine *c)
{
	bool all = c->nwaits > 0;
	for (unsigned i = 0; all && i < c->nwaits; i++)
		all = idmap_get(&p->ended, key(c->waits[i].fd, c->waits[i].gen)) != IDMAP_NONE;
	return all;
}

static void count(struct watch_count *v, size_t *n, size_t max, const struct proofs_one *f)
{
	size_t i = 0;
	while (i < *n && strcmp(v[i].rule, f->rule))
		i++;
	if (i == max)
		return;
	if (i == *n) {
		v[(*n)++] = (struct watch_count){.n = 0};
		snprintf(v[i].rule, sizeof(v[i].rule), "%s", f->rule);
	}
	v[i].n++;
	v[i].shown += f->shown;
}

size_t watch_proofs_mark(struct watch_proofs *p, struct watch_model *m, uint32_t cands,
			 struct watch_count *out, size_t max)
{
	size_t n = 0;
	read_ended(p, cands);
	m->closed = 0;
	for (size_t i = 0; i < m->n; i++) {
		struct watch_row *r = &m->rows[i];
		r->finding = false;
		if (!r->there || r->c.life != CTP_SUSPENDED)
			continue;
		r->closed = p->ended.n && waits_for_ended(p, &r->c);
		m->closed += r->closed;
		const struct proofs_one *f = proofs_of(p->proofs, r->c.id, r->c.changes);
		r->finding = f != NULL;
		if (f)
			count(out, &n, max, f);
	}
	return n;
}
