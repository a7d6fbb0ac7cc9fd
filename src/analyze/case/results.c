// SPDX-License-Identifier: MIT
//
// What passes add: cases (one coroutine each) and facts.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/case/pass.h"
#include "base/grow.h"

static char *ran_text(const struct results *f)
{
	enum { SHOWN = 12 };
	char ids[SHOWN * 22], *text = NULL;
	size_t at = 0;
	for (size_t i = 0; i < f->nran && i < SHOWN; i++)
		at += (size_t)snprintf(ids + at, sizeof(ids) - at, "%s%" PRIu64, i ? ", " : "", f->ran[i]);
	bool one = f->nran == 1;
	if (asprintf(
		    &text,
		    "coroutine%s %s%s seemed lost beyond doubt, and ran again all the same: either a pointer "
		    "to %s was in disguise or outside the process, or this is a bug of ctp: please report it",
		    one ? "" : "s", ids, f->nran > SHOWN ? ", and more" : "", one ? "it" : "each") < 0)
		return NULL;
	return text;
}

int results_ran_again(struct results *f, uint64_t id)
{
	for (size_t i = 0; i < f->nran; i++)
		if (f->ran[i] == id)
			return 0;
	if (GROW(f->ran, f->nran, f->ran_capacity))
		return -ENOMEM;
	f->ran[f->nran++] = id;
	if (f->nran == 1) {
		int r = results_fact(f, "INFO", 1, "%s", "");
		if (r)
			return r;
		f->ran_fact = f->nfacts - 1;
	}
	char *text = ran_text(f);
	if (!text)
		return -ENOMEM;
	free(f->facts[f->ran_fact].message);
	f->facts[f->ran_fact].message = text;
	f->facts[f->ran_fact].count = f->nran;
	return 0;
}

int results_add(struct results *f, const struct verdict_case *c)
{
	if (c->proof.verdict == VERDICT_NONE)
		return 0;
	if (c->pass->waits && c->about.state && image_ran_since(c->about.image, c->about.state))
		return c->proof.verdict == VERDICT_PROVEN ? results_ran_again(f, c->id) : 0;
	int r = GROW(f->cases, f->ncases, f->cases_capacity);
	if (!r)
		f->cases[f->ncases++] = *c;
	return r;
}

int results_fact(struct results *f, const char *rule, uint64_t count, const char *format, ...)
{
	int r = GROW(f->facts, f->nfacts, f->facts_capacity);
	if (r)
		return r;
	struct fact fact = {.count = count};
	snprintf(fact.rule, sizeof(fact.rule), "%s", rule);
	va_list ap;
	va_start(ap, format);
	if (vasprintf(&fact.message, format, ap) < 0)
		r = -ENOMEM;
	va_end(ap);
	if (!r)
		f->facts[f->nfacts++] = fact;
	return r;
}

const char *results_text(struct results *f, const char *format, ...)
{
	char *text = NULL;
	va_list ap;
	va_start(ap, format);
	if (GROW(f->texts, f->ntexts, f->texts_capacity) || vasprintf(&text, format, ap) < 0)
		text = NULL;
	va_end(ap);
	if (!text)
		return "";
	f->texts[f->ntexts++] = text;
	return text;
}

void results_deinit(struct results *f)
{
	for (size_t i = 0; i < f->ntexts; i++)
		free(f->texts[i]);
	free(f->texts);
	for (size_t i = 0; i < f->nfacts; i++)
		free(f->facts[i].message);
	free(f->facts);
	free(f->ran);
	free(f->cases);
	*f = (struct results){0};
}
