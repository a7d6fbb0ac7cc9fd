// SPDX-License-Identifier: MIT
//
// The end of the report for people: which coroutines wait and are in no finding, and what was
// covered, so that "nothing found" differs from "nothing watched".
#include <inttypes.h>
#include <string.h>

#include "analyze/format/format_text.h"
#include "analyze/report/accounting.h"
#include "analyze/report/group_by.h"
#include "analyze/report/stackless_sums.h"
#include "analyze/report/undecided.h"
#include "analyze/report/waiters.h"
#include "base/file.h"
#include "base/text.h"

#define LONGEST_SHOWN 5
#define UNDECIDED_SHOWN 10 // of these, wherever they stand

// Where switches were seen, nobody asks which functions were looked for.
static const char *in_short(const struct world *w, const char *covered)
{
	const char *found = strstr(covered, ": ");
	return w->counts.switches && found && !strncmp(covered, "looked for ", 11) ? found + 2 : covered;
}

// Where it stands: the program's own frames, innermost first; without any, the innermost of all.
static void own_frames(const struct report *r, const struct waiters_group *g, char *buf, size_t bytes)
{
	struct frames f = {0};
	char name[160];
	size_t shown = 0, at = 0;
	*buf = 0;
	if (frames_read(&f, r->symbols[g->image - r->world->images], g->image,
			image_told_stack(g->image, g->oldest)))
		return;
	for (size_t i = 0; i < f.n && shown < FRAMES_SHOWN; i++) {
		const struct symbols_frame *e = f.items[i];
		if ((frames_is_library(e) && e != frames_first_own(&f)) || at >= bytes)
			continue;
		at += (size_t)snprintf(buf + at, bytes - at, "%s%s", shown++ ? " <- " : "",
				       frames_name(e, name, sizeof(name)));
		if (e->file && at < bytes)
			at += (size_t)snprintf(buf + at, bytes - at, " %s:%d", file_base(e->file), e->line);
	}
	frames_deinit(&f);
}

static void show_group(FILE *to, const struct report *r, const struct waiters_group *g)
{
	const struct ctp_wait *wait = image_nwaits(g->oldest) ? &g->oldest->waits[0] : NULL;
	char frames[1000], span[32], fd[64] = "", why[300] = "", reason[320] = "", label[300], piece[2000];
	struct text_wrap wrap = {to, 9, 9, COLUMNS};
	text_duration(span, sizeof(span), waiters_age_ns(r, g));
	own_frames(r, g, frames, sizeof(frames));
	if (wait)
		snprintf(fd, sizeof(fd), " on fd %d#%u", wait->fd, wait->gen);
	if (g->kind == ACCOUNT_UNDECIDED)
		snprintf(reason, sizeof(reason), " (%s)",
			 undecided_why(r, g->image, g->oldest, why, sizeof(why)));
	group_by_label(r, g->image, g->oldest, label, sizeof(label));
	snprintf(piece, sizeof(piece), "%zu %s%s%s up to %s%s%s: %s", g->n, label, *label ? " " : "",
		 g->kind == ACCOUNT_HEALTHY ? "waiting" : accounting_words[g->kind], span, fd, reason,
		 frames);
	text_words(&wrap, piece);
	fputc('\n', to);
}

// The oldest of those that are in no finding: nothing is wrong with them, as
// far as can be told, but a reader may know better.
void format_text_longest(FILE *to, const struct report *r)
{
	struct waiters all;
	size_t undecided = 0;
	if (waiters_collect(&all, r))
		return;
	for (size_t i = 0; i < all.n; i++) {
		bool is = all.items[i].kind == ACCOUNT_UNDECIDED;
		undecided += is;
		if (i >= LONGEST_SHOWN && !(is && undecided <= UNDECIDED_SHOWN))
			continue;
		fputs(i ? "         " : "longest  ", to);
		show_group(to, r, &all.items[i]);
	}
	waiters_deinit(&all);
}

// Each part stays on one line.
static void show_accounting(struct text_wrap *wrap, const struct report *r)
{
	char piece[96];
	snprintf(piece, sizeof(piece), "%" PRIu64 " suspended: %" PRIu64 " %s", r->world->counts.suspended,
		 r->accounting[ACCOUNT_FOUND], accounting_words[ACCOUNT_FOUND]);
	text_piece(wrap, "; ", piece);
	for (unsigned i = ACCOUNT_FOUND + 1; i < ACCOUNTS; i++) {
		snprintf(piece, sizeof(piece), "%" PRIu64 " %s", r->accounting[i], accounting_words[i]);
		text_piece(wrap, ", ", piece);
	}
}

// Words that never change what a report says of stackful coroutines.
static void show_stackless(struct text_wrap *wrap, const struct report *r)
{
	const struct stackless_sums s = stackless_sums(r);
	char piece[300], span[32], when[80] = "";
	if (s.unseen) {
		snprintf(piece, sizeof(piece),
			 "C++20 coroutines were not looked for, though %" PRIu64
			 " function%s: all threads never "
			 "slept long enough",
			 s.unseen, s.unseen == 1 ? " is one" : "s are");
		text_piece(wrap, "; ", piece);
	}
	if (!s.looked)
		return;
	text_duration(span, sizeof(span), s.before_end_ns);
	if (s.before_end_ns)
		snprintf(when, sizeof(when), ", as of %s%s before the end", s.looks > 1 ? "up to " : "",
			 span);
	if (s.before_end_ns > s.waits_before_ns) {
		size_t at = strlen(when);
		text_duration(span, sizeof(span), s.waits_before_ns);
		snprintf(when + at, sizeof(when) - at, ", who waits as of %s before it", span);
	}
	snprintf(piece, sizeof(piece),
		 "C++20 coroutines: %" PRIu64 " suspended, %" PRIu64 " never started, %" PRIu64
		 " at their end, %" PRIu64 " running, %" PRIu64 " that may have ended%s",
		 s.suspended, s.initial, s.last, s.running, s.may_have_ended, when);
	text_piece(wrap, "; ", piece);
	if (!s.undecided)
		return;
	snprintf(piece, sizeof(piece),
		 "of %" PRIu64 " C++20 coroutines it could not be told what leads to them: %s", s.undecided,
		 s.why ? s.why : "memory was not searched");
	text_piece(wrap, "; ", piece);
}

void format_text_covered(FILE *to, const struct report *r)
{
	const struct world *w = r->world;
	const struct image_counts *c = &w->counts;
	char span[32], piece[128];
	struct text_wrap wrap = {to, 9, 9, COLUMNS};
	text_duration(span, sizeof(span), w->duration_ns);
	fprintf(to, "covered  ");
	snprintf(piece, sizeof(piece),
		 "%" PRIu64 " thread%s, %" PRIu64 " switch%s, %" PRIu64 " event%s in %s", w->threads,
		 w->threads == 1 ? "" : "s", c->switches, c->switches == 1 ? "" : "es", w->events,
		 w->events == 1 ? "" : "s", span);
	text_piece(&wrap, "; ", piece);
	if (w->form != WORLD_LINES)
		snprintf(piece, sizeof(piece),
			 "coroutines: %" PRIu64 " created and never run, %" PRIu64 " suspended, %" PRIu64
			 " running, %" PRIu64 " finished, %" PRIu64 " destroyed",
			 c->created, c->suspended, c->running, c->finished, c->destroyed);
	else
		snprintf(piece, sizeof(piece),
			 "coroutines: %" PRIu64 " suspended, %" PRIu64 " running, %" PRIu64 " finished",
			 c->suspended, c->running, c->finished);
	text_piece(&wrap, "; ", piece);
	show_accounting(&wrap, r);
	show_stackless(&wrap, r);
	for (size_t i = 0; i < w->program_events.n; i++) {
		const struct program_class *k = &w->program_events.items[i];
		char event[256], line[16] = "";
		if (k->line) // libctp's own has none
			snprintf(line, sizeof(line), ":%" PRIu32, k->line);
		snprintf(event, sizeof(event), "%" PRIu64 " %s:%s (%s%s)", k->count, k->provider, k->name,
			 file_base(k->file), line);
		text_piece(&wrap, i ? ", " : "; ", event);
	}
	for (size_t i = 0; i < w->ncoverage; i++)
		text_piece(&wrap, "; ", in_short(w, w->coverage[i]));
	fputc('\n', to);
}
