// SPDX-License-Identifier: MIT
//
// Two traces compared, for people: what is new comes first. The words of the last line are
// fixed, as scripts look for them.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/diff.h"
#include "analyze/report/describe.h"
#include "base/text.h"

#define COLUMNS 100
#define INDENT 9
#define SHIFTS_SHOWN 30
#define SITES_SHOWN 20

static void put(FILE *to, const char *label, const char *text)
{
	struct text_wrap w = {to, INDENT, INDENT, COLUMNS};
	fprintf(to, "%-*s", INDENT, label);
	text_words(&w, text);
	fputc('\n', to);
}

// Figures: a line ends behind a comma, a semicolon or a colon, and not within a value.
static void put_figures(FILE *to, const char *label, const char *text)
{
	struct text_wrap w = {to, INDENT, INDENT, COLUMNS};
	fprintf(to, "%-*s", INDENT, label);
	for (size_t n; *text; text += n + strspn(text + n, " ")) {
		char piece[1400];
		for (n = strcspn(text, ",;:"); text[n] && text[n + 1] && text[n + 1] != ' ';)
			n += 1 + strcspn(text + n + 1, ",;:");
		n += text[n] != 0;
		snprintf(piece, sizeof(piece), "%.*s", (int)n, text);
		text_piece(&w, " ", piece);
	}
	fputc('\n', to);
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static double per_second(const struct world *w)
{
	return w->duration_ns ? (double)w->counts.switches / ((double)w->duration_ns / 1e9) : 0;
}

static void put_side(FILE *to, const struct diff *d, int side)
{
	const struct world *w = d->sides[side].world;
	char span[32], text[1200];
	text_duration(span, sizeof(span), w->duration_ns);
	snprintf(text, sizeof(text),
		 "%.600s: %s, %" PRIu64 " coroutines, %" PRIu64 " of them suspended, %" PRIu64
		 " switches (%.0f/s), %" PRIu64 " records lost%s%s",
		 w->path, span, w->coroutines, w->counts.suspended, w->counts.switches, per_second(w),
		 w->lost, d->sides[side].lacks ? "; " : "", d->sides[side].lacks ? d->sides[side].lacks : "");
	put_figures(to, side == DIFF_OLD ? "old" : "new", text);
}

static void put_finding(FILE *to, const struct diff *d, const struct diff_finding *f, bool color)
{
	int side = f->of[DIFF_NEW] ? DIFF_NEW : DIFF_OLD;
	const struct finding *of = f->of[side], *was = f->of[DIFF_OLD];
	const char *word = diff_word(f);
	char message[1024], text[1400], was_verdict[48] = "";
	if (!strcmp(word, "same") && was->verdict == of->verdict)
		return;
	describe_message(&d->sides[side].report, of, message, sizeof(message));
	if (was && was->verdict != of->verdict)
		snprintf(was_verdict, sizeof(was_verdict), " (was %s)", verdict_words[was->verdict]);
	snprintf(text, sizeof(text), "%s%s%s %s %s [%s]%s %zu -> %zu coroutines: %s",
		 color && side && !was ? "\033[1;31m" : "", word, color && side && !was ? "\033[0m" : "",
		 of->pass->rule, of->pass->title, verdict_words[of->verdict], was_verdict, f->n[DIFF_OLD],
		 f->n[DIFF_NEW], message);
	put(to, "finding", text);
}

static int by_change(const void *a, const void *b)
{
	const struct diff_site *const *x = a, *const *y = b;
	size_t p = (*x)->suspended[0] > (*x)->suspended[1] ? (*x)->suspended[0] - (*x)->suspended[1] :
							     (*x)->suspended[1] - (*x)->suspended[0];
	size_t q = (*y)->suspended[0] > (*y)->suspended[1] ? (*y)->suspended[0] - (*y)->suspended[1] :
							     (*y)->suspended[1] - (*y)->suspended[0];
	return p != q ? (p > q ? -1 : 1) : strcmp((*x)->where, (*y)->where);
}

static bool knows_suspended(const struct diff *d)
{
	return d->sides[DIFF_OLD].world->has_last_tables && d->sides[DIFF_NEW].world->has_last_tables;
}

static int put_suspended(FILE *to, const struct diff *d)
{
	const struct diff_site **v = calloc(d->nsites + 1, sizeof(*v));
	size_t n = 0;
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; knows_suspended(d) && i < d->nsites; i++)
		if (d->sites[i].suspended[DIFF_OLD] != d->sites[i].suspended[DIFF_NEW])
			v[n++] = &d->sites[i];
	if (n)
		qsort(v, n, sizeof(*v), by_change);
	for (size_t i = 0; i < n && i < SITES_SHOWN; i++) {
		char text[800];
		const size_t *s = v[i]->suspended;
		snprintf(text, sizeof(text), "%zu -> %zu%s at %s", s[DIFF_OLD], s[DIFF_NEW],
			 !s[DIFF_OLD] ? " (new)" :
			 !s[DIFF_NEW] ? " (vanished)" :
					"",
			 v[i]->where);
		put(to, i ? "" : "waiting", text);
	}
	if (n > SITES_SHOWN)
		fprintf(to, "%*sand %zu more; --format=json for all\n", INDENT, "", n - SITES_SHOWN);
	free(v);
	return 0;
}

static void put_times(char *buf, size_t bytes, const struct profile_histogram *h)
{
	char median[2][32], mean[2][32], tail[2][32];
	for (int i = 0; i < DIFF_SIDES; i++) {
		text_duration(median[i], sizeof(median[i]), (uint64_t)diff_stats_quantile(&h[i], 0.5));
		text_duration(mean[i], sizeof(mean[i]), (uint64_t)diff_stats_mean(&h[i]));
		text_duration(tail[i], sizeof(tail[i]), (uint64_t)diff_stats_quantile(&h[i], 0.99));
	}
	snprintf(buf, bytes, "median %s -> %s, mean %s -> %s, p99 %s -> %s, n %" PRIu64 " -> %" PRIu64,
		 median[0], median[1], mean[0], mean[1], tail[0], tail[1], h[0].n, h[1].n);
}

static void put_shift(FILE *to, const struct diff_shift *s)
{
	char times[400], text[1200];
	put_times(times, sizeof(times), s->site->times[s->weight]);
	snprintf(text, sizeof(text), "%.1fx %s: %s; at %s", s->ratio > 1 ? s->ratio : 1 / s->ratio,
		 s->change == DIFF_SLOWER ? "longer" : "shorter", times, s->site->where);
	put_figures(to, diff_times[s->weight], text);
}

// Of all coroutines: what a machine that was slower as a whole looks like.
static void put_all(FILE *to, const struct diff *d)
{
	for (unsigned k = 0; k < PROFILE_COUNT; k++) {
		struct profile_histogram h[DIFF_SIDES] = {d->sides[DIFF_OLD].profile.all[k],
							  d->sides[DIFF_NEW].profile.all[k]};
		char times[400], text[440];
		if (!h[DIFF_OLD].n || !h[DIFF_NEW].n)
			continue;
		put_times(times, sizeof(times), h);
		snprintf(text, sizeof(text), "%s: %s", diff_times[k], times);
		put_figures(to, "all", text);
	}
}

int diff_text(FILE *to, const struct diff *d, bool color)
{
	struct diff_shift *v;
	size_t n, few, slower = 0, fresh = 0, gone = 0;
	int e = diff_shifts(d, &v, &n, &few);
	if (e)
		return e;
	for (int i = 0; i < DIFF_SIDES; i++)
		put_side(to, d, i);
	for (size_t i = 0; i < d->nfindings; i++) {
		put_finding(to, d, &d->findings[i], color);
		fresh += !d->findings[i].of[DIFF_OLD];
		gone += !d->findings[i].of[DIFF_NEW];
	}
	e = put_suspended(to, d);
	for (size_t i = 0; i < n; i++)
		slower += v[i].change == DIFF_SLOWER;
	for (size_t i = 0; i < n && i < SHIFTS_SHOWN; i++)
		put_shift(to, &v[i]);
	if (n > SHIFTS_SHOWN)
		fprintf(to, "%*sand %zu more; --format=json for all\n", INDENT, "", n - SHIFTS_SHOWN);
	put_all(to, d);
	if (d->sides[DIFF_OLD].has_times && d->sides[DIFF_NEW].has_times) {
		char text[400];
		int used = snprintf(text, sizeof(text), DIFF_RULE);
		if (few)
			snprintf(text + used, sizeof(text) - (size_t)used,
				 "; %zu comparison%s left out, with fewer than %d samples on a side", few,
				 plural(few), DIFF_LEAST);
		put(to, "times", text);
	}
	fprintf(to, "%zu new finding%s, %zu vanished, %zu place%s slower, %zu faster\n", fresh, plural(fresh),
		gone, slower, plural(slower), n - slower);
	free(v);
	return e;
}
