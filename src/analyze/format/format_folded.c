// SPDX-License-Identifier: MIT
//
// Folded stacks: one line for each stack, outermost function first, with its weight (ns, or
// a count), for flamegraph.pl, inferno and speedscope. Sorted; each stack once.
#include <inttypes.h>
#include <string.h>

#include "analyze/format/format_profile.h"

// What has a meaning in this format is none of a name: a semicolon, a number at its end.
static void clean(char *name)
{
	size_t n = strlen(name), digits = 0;
	for (char *p = name; *p; p++)
		*p = *p == ';' ? ':' : *p;
	while (digits < n && strchr("0123456789.", name[n - digits - 1]))
		digits++;
	if (digits && digits < n && name[n - digits - 1] == ' ')
		name[n - digits - 1] = '_';
}

static bool same(const struct profile_stack *a, const struct profile_stack *b)
{
	for (size_t i = 0; i < a->n && a->n == b->n; i++)
		if (strcmp(a->items[i].name, b->items[i].name))
			return false;
	return a->n == b->n;
}

static void write_rows(FILE *to, struct profile_rows *rows, unsigned weight)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < rows->n; i++) {
		struct profile_stack *s = &rows->items[i].stack;
		sum += rows->items[i].site->weight[weight];
		if (!sum || (i + 1 < rows->n && same(s, &rows->items[i + 1].stack)))
			continue;
		for (size_t k = 0; k < s->n; k++) {
			clean(s->items[k].name);
			fprintf(to, "%s%s", k ? ";" : "", s->items[k].name);
		}
		fprintf(to, " %" PRIu64 "\n", sum);
		sum = 0;
	}
}

int format_folded(FILE *to, const struct report *report, const struct format_settings *settings)
{
	struct format_profile p;
	int r = format_profile_make(&p, report, settings, settings->weight);
	if (r)
		return r;
	write_rows(to, &p.rows, settings->weight);
	format_profile_deinit(&p);
	return 0;
}
