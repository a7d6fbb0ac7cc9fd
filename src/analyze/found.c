// SPDX-License-Identifier: MIT
//
// What passes hand back: cases (one coroutine each) and facts.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/pass.h"
#include "base/grow.h"

int found_case(struct found *f, const struct verdict_case *c)
{
	int r = c->proof.verdict == VERDICT_NONE ? 1 : GROW(f->cases, f->ncases, f->cases_capacity);
	if (r > 0)
		return 0;
	if (!r)
		f->cases[f->ncases++] = *c;
	return r;
}

int found_fact(struct found *f, const char *rule, uint64_t count, const char *format, ...)
{
	int r = GROW(f->facts, f->nfacts, f->facts_capacity);
	if (r)
		return r;
	struct fact fact = { .count = count };
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

const char *found_text(struct found *f, const char *format, ...)
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

void found_deinit(struct found *f)
{
	for (size_t i = 0; i < f->ntexts; i++)
		free(f->texts[i]);
	free(f->texts);
	for (size_t i = 0; i < f->nfacts; i++)
		free(f->facts[i].message);
	free(f->facts);
	free(f->cases);
	*f = (struct found){ 0 };
}
