// SPDX-License-Identifier: MIT
//
// The parts add up to what is suspended, whatever else is wrong with a trace: of a coroutine that no
// table has (a version-1 station's, one of JSON lines or of an unfinished trace) nothing can be told, so
// it is undecided. A finding that is left out of the report (--min-verdict, --rule, --suppress) claims
// nobody: its coroutines count by their wait, which is mostly undecided then.
#include "analyze/report/accounting.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/finished_kept.h"
#include "ctp/wait_inference.h"

const char *const accounting_words[ACCOUNTS] = {
	[ACCOUNT_FOUND] = "in findings", [ACCOUNT_HEALTHY] = "healthy",     [ACCOUNT_PARKED] = "parked",
	[ACCOUNT_POOLED] = "pooled",     [ACCOUNT_UNDECIDED] = "undecided",
};

// Of a wait, or of a circle of them.
static bool about_a_wait(const struct pass *pass)
{
	return pass->waits || !strcmp(pass->rule, rules_id[RULE_CYCLE]);
}

static bool counts(const struct image *m)
{
	return m->has_tables && !m->replaced;
}

static void mark_found(struct report *r)
{
	for (size_t i = 0; i < r->nfindings; i++) {
		const struct finding *f = &r->findings[i];
		for (size_t k = 0; about_a_wait(f->pass) && k < f->n; k++) {
			const struct image *m = f->cases[k]->about.image;
			uint32_t row = idmap_get(&m->by_id, f->cases[k]->id);
			if (counts(m) && row != IDMAP_NONE)
				r->accounts[m - r->world->images][row] = ACCOUNT_FOUND;
		}
	}
}

static enum account by_wait(const struct report *r, const struct image *m, size_t row)
{
	unsigned flags = m->row_flags[row];
	bool pooled = ctp_in_pool(image_state(m, row)) || finished_kept(r, m, row);
	return flags & IMAGE_ROW_HEALTHY ? ACCOUNT_HEALTHY :
	       pooled                    ? ACCOUNT_POOLED :
	       flags & IMAGE_ROW_PARKED  ? ACCOUNT_PARKED :
					   ACCOUNT_UNDECIDED;
}

static void count_image(struct report *r, const struct image *m, unsigned char *accounts)
{
	for (size_t i = 0; i < m->stations.n; i++) {
		const struct ctp_state *s = image_state(m, i);
		if (s->entity != CTP_COROUTINE || s->life != CTP_SUSPENDED) {
			accounts[i] = ACCOUNT_NONE;
			continue;
		}
		if (accounts[i] != ACCOUNT_FOUND)
			accounts[i] = (unsigned char)by_wait(r, m, i);
		r->accounting[accounts[i]]++;
	}
}

int accounting_count(struct report *r)
{
	const struct world *w = r->world;
	uint64_t told = 0;
	accounting_deinit(r);
	memset(r->accounting, 0, sizeof(r->accounting));
	r->accounts = calloc(w->nimages + 1, sizeof(*r->accounts));
	if (!r->accounts)
		return -ENOMEM;
	for (size_t i = 0; i < w->nimages; i++)
		if (counts(&w->images[i]) &&
		    !(r->accounts[i] = calloc(w->images[i].stations.n + 1, sizeof(**r->accounts))))
			return -ENOMEM;
	mark_found(r);
	for (size_t i = 0; i < w->nimages; i++)
		if (counts(&w->images[i]))
			count_image(r, &w->images[i], r->accounts[i]);
	for (unsigned i = ACCOUNT_NONE + 1; i < ACCOUNTS; i++)
		told += r->accounting[i];
	if (w->counts.suspended > told)
		r->accounting[ACCOUNT_UNDECIDED] += w->counts.suspended - told;
	return 0;
}

void accounting_deinit(struct report *r)
{
	for (size_t i = 0; r->accounts && i < r->world->nimages; i++)
		free(r->accounts[i]);
	free(r->accounts);
	r->accounts = NULL;
}

const char *accounting_text(const struct report *r, char *buf, size_t bytes)
{
	size_t at = (size_t)snprintf(buf, bytes, "%" PRIu64 " suspended: ", r->world->counts.suspended);
	for (unsigned i = ACCOUNT_NONE + 1; i < ACCOUNTS && at < bytes; i++)
		at += (size_t)snprintf(buf + at, bytes - at, "%s%" PRIu64 " %s",
				       i > ACCOUNT_NONE + 1 ? ", " : "", r->accounting[i],
				       accounting_words[i]);
	return buf;
}
