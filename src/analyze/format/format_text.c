// SPDX-License-Identifier: MIT
//
// The report for people. Scripts rely on these words: a finding's first line "CTPnnn title
// [VERDICT]"; then, after blanks, waiting, closed by, opened, timeline, evidence, refuted if,
// fix; and the last line. All else may change. A group shows one coroutine and fits on a
// screen. Where there are many findings, a line for each comes first, indented, so that a
// finding's first line still begins with its rule only once.
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/format/crash.h"
#include "analyze/format/format_text.h"
#include "analyze/format/listing.h"
#include "analyze/report/describe.h"
#include "analyze/report/group_by.h"
#include "analyze/report/run_identity.h"
#include "base/text.h"
#include "ctp/words.h"

#define LABEL "  %-9s "
#define LABEL_COLUMNS 12
#define SUMMARY_FROM 5 // more findings than these have a summary before them

static const char *paint(const struct format_settings *s, enum verdict v)
{
	static const char *const colors[] = {"", "\033[36m", "\033[33m", "\033[1;33m", "\033[1;31m"};
	return s->color ? colors[v] : "";
}

// "CTP001 lost wakeup [PROVEN]"; returns its columns.
static size_t head_of(char *buf, size_t bytes, const struct finding *f, const struct format_settings *s)
{
	char verdict[16];
	size_t i;
	const char *word = verdict_words[f->verdict];
	for (i = 0; word[i] && i < sizeof(verdict) - 1; i++)
		verdict[i] = (char)toupper((unsigned char)word[i]);
	verdict[i] = 0;
	snprintf(buf, bytes, "%s %s %s[%s]%s", f->pass->rule, f->pass->title, paint(s, f->verdict), verdict,
		 s->color ? "\033[0m" : "");
	return strlen(f->pass->rule) + strlen(f->pass->title) + i + 4;
}

static void show_head(FILE *to, const struct report *r, const struct finding *f,
		      const struct format_settings *s)
{
	char who[256], head[128], line[512], count[64] = "";
	size_t used = head_of(head, sizeof(head), f, s);
	const struct image *image = f->cases[0]->about.image;
	report_subject(r, f, who, sizeof(who));
	report_where(r, image, who + strlen(who), sizeof(who) - strlen(who));
	fputs(head, to);
	snprintf(line, sizeof(line), "  %s %s", who, describe_claim(f->cases[0]));
	if (f->n > 1)
		snprintf(count, sizeof(count), "%zu coroutines, same sites", f->n);
	struct text_wrap w = {to, 7, used, COLUMNS};
	if (used + text_width(line) <= COLUMNS) {
		fputs(line, to);
		w.column += text_width(line);
	} else {
		fputc(' ', to);
		w.column++;
		text_words(&w, line);
	}
	if (*count && w.column + 2 + strlen(count) > COLUMNS) {
		fputc('\n', to);
		w.column = 0;
	}
	if (*count)
		fprintf(to, "%*s", (int)(COLUMNS - w.column), count);
	fputs(f->known ? "  (known)\n" : "\n", to);
}

static bool is_named(const char *text, const char *fd)
{
	const char *at = strstr(text, fd);
	return at && !isdigit((unsigned char)at[strlen(fd)]);
}

// What it waits for, and the others of several descriptors that are not named there.
static void show_fds(struct text_wrap *w, const struct verdict_case *c)
{
	struct describe_fd all[DESCRIBE_FDS];
	unsigned n = c->fd < 0 ? 0 : describe_fds(c, all);
	char text[1024];
	int used = snprintf(text, sizeof(text), "%s", c->doing ? c->doing : ""), before = used;
	for (unsigned i = 1; i < n && used < (int)sizeof(text); i++) {
		char name[32];
		snprintf(name, sizeof(name), "fd %d#%u", all[i].fd, all[i].gen);
		if (!c->doing || !is_named(c->doing, name))
			used += snprintf(text + used, sizeof(text) - (size_t)used, "%s %s, which is %s",
					 used == before ? ", and for" : ",", name,
					 all[i].closed ? "closed" : "open");
	}
	text_words(w, text);
}

static void show_waiting(FILE *to, const struct finding *f, const struct format_settings *s)
{
	const struct verdict_case *c = f->cases[0];
	fprintf(to, LABEL, c->label);
	struct text_wrap w = {to, LABEL_COLUMNS, LABEL_COLUMNS, COLUMNS};
	show_fds(&w, c);
	fputc('\n', to);
	format_text_stack(to, f->symbols, &f->waiter,
			  !s->color    ? STACK_PLAIN :
			  c->actor.did ? STACK_DIMMED :
					 STACK_MARKED);
}

static void show_closed(FILE *to, const struct report *r, const struct finding *f,
			const struct format_settings *s)
{
	const struct verdict_case *c = f->cases[0];
	char who[256], after[32];
	if (!c->actor.did)
		return;
	report_who(r, c->about.image, c->actor.id, who, sizeof(who));
	fprintf(to, "  %-9s %s", c->actor.did, who);
	if (c->pass->waits && c->actor.ticks && c->about.state) {
		uint64_t at = world_ns(r->world, c->actor.ticks);
		uint64_t since = world_ns(r->world, c->about.state->since);
		text_duration(after, sizeof(after), at > since ? at - since : since - at);
		fprintf(to, ", %s %s", after, at >= since ? "after" : "before");
	}
	if (c->actor.call)
		fprintf(to, " (%s)", c->actor.call);
	fputc('\n', to);
	format_text_stack(to, f->symbols, &f->closer, s->color ? STACK_MARKED : STACK_PLAIN);
}

// The caller of `e` from another file: where the one is a wrapper, the other says
// more. NULL: there is none, or it is what every coroutine begins in.
static const struct symbols_frame *caller_of(const struct frames *f, const struct symbols_frame *e)
{
	const struct symbols_frame *by = NULL, *last = NULL;
	for (size_t i = 0; e && e->file && i < f->n; i++) {
		if (!f->items[i]->file || frames_is_library(f->items[i]))
			continue;
		last = f->items[i];
		if (!by && strcmp(last->file, e->file) != 0)
			by = last;
	}
	return by && !strcmp(by->file, last->file) && last->symbol && strcmp(last->symbol, "main") != 0 ?
		       NULL :
		       by;
}

// " at file:line <- file:line"
static void at_place(char *buf, size_t bytes, const struct frames *f)
{
	const struct symbols_frame *e = frames_first_own(f), *by = caller_of(f, e);
	char name[160], place[300];
	*buf = 0;
	int n = e && e->file ? snprintf(buf, bytes, " at %s", frames_place(e, place, sizeof(place))) : 0;
	if (by && (size_t)n < bytes)
		snprintf(buf + n, bytes - (size_t)n, " <- %s", frames_place(by, place, sizeof(place)));
	if (n)
		return;
	if (e)
		snprintf(buf, bytes, " in %s", frames_name(e, name, sizeof(name)));
}

static void show_opened(FILE *to, const struct report *r, const struct finding *f)
{
	const struct verdict_case *c = f->cases[0];
	struct text_wrap w = {to, LABEL_COLUMNS, LABEL_COLUMNS, COLUMNS};
	char who[256], by[272] = "", place[580], created[280],
		       piece[620] = "not seen: before ctp watched, or by a call that it does not watch";
	const char *call = c->opener.call;
	if (c->fd < 0)
		*piece = 0;
	at_place(place, sizeof(place), &f->opener);
	if (call)
		snprintf(piece, sizeof(piece), "by %s, %s%s",
			 report_who(r, c->about.image, c->opener.id, who, sizeof(who)), call, place);
	at_place(created, sizeof(created), &f->creator);
	if (!*piece && !*created)
		return;
	fprintf(to, LABEL, *piece ? "opened" : "created");
	if (*piece)
		text_piece(&w, "", piece);
	const struct ctp_state *maker =
		c->about.state ? image_entity(c->about.image, c->about.state->creator) : NULL;
	if (maker && maker->entity == CTP_COROUTINE)
		snprintf(by, sizeof(by), " by %s",
			 report_who(r, c->about.image, maker->id, who, sizeof(who)));
	snprintf(place, sizeof(place), "coroutine created%s%s", by, created);
	if (*created)
		text_piece(&w, " · ", *piece ? place : place + strlen("coroutine created "));
	fputc('\n', to);
}

// Who did something, in short: "co 5 ", "thread 1785 ".
static const char *actor_of(const struct image *m, uint64_t id, char *buf, size_t bytes)
{
	const struct ctp_state *e = image_entity(m, id);
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct ctp_thread *t = table_row(&m->threads, i);
		if (t->native == id) {
			snprintf(buf, bytes, "thread %u ", t->tid);
			return buf;
		}
	}
	snprintf(buf, bytes, "%s %" PRIu64 " ", e && e->entity == CTP_NATIVE ? "native" : "co", id);
	return buf;
}

static void show_timeline(FILE *to, const struct finding *f)
{
	const struct verdict_case *c = f->cases[0];
	const struct image *m = c->about.image;
	const struct case_event *all = c->events;
	struct text_wrap w = {to, LABEL_COLUMNS, LABEL_COLUMNS, COLUMNS};
	uint64_t start = c->about.world->start_ns;
	if (!c->nevents)
		return;
	fprintf(to, LABEL, "timeline");
	for (unsigned i = 0; i < c->nevents; i++) {
		char piece[300], who[32] = "", clock[RUN_IDENTITY_TIME];
		if (all[i].id)
			actor_of(m, all[i].id, who, sizeof(who));
		run_identity_clock(c->about.world, all[i].ns, clock);
		snprintf(piece, sizeof(piece), "%+.6f %s%s%s%s%s", (double)(int64_t)(all[i].ns - start) / 1e9,
			 *clock ? "(" : "", clock, *clock ? ") " : "", who, all[i].what);
		text_piece(&w, " · ", piece);
	}
	fputc('\n', to);
}

// Of these the text follows also when they hold.
static const bool obligation_reported[PROOFS] = {
	[PROOF_P3] = true,
	[PROOF_P5] = true,
	[PROOF_P6A] = true,
	[PROOF_P6B] = true,
};

static void show_evidence(FILE *to, const struct finding *f)
{
	const struct verdict_case *c = f->cases[0];
	struct text_wrap w = {to, LABEL_COLUMNS, LABEL_COLUMNS, COLUMNS};
	fprintf(to, LABEL, "evidence");
	for (unsigned i = 0; i < PROOFS; i++) {
		const struct obligation *o = &c->proof.items[i];
		char piece[512];
		bool other = (i == PROOF_P6B && c->proof.items[PROOF_P6A].holds == HOLDS_TRUE) ||
			     (i == PROOF_P6A && c->proof.items[PROOF_P6B].holds == HOLDS_TRUE);
		if (!o->text && o->holds == HOLDS_OPEN)
			continue; // none of this rule's
		if (other && o->holds != HOLDS_TRUE)
			continue; // one of the two is enough
		bool told = o->text && (o->holds != HOLDS_TRUE || obligation_reported[i]);
		const char *word = describe_proof(c, i);
		size_t label = strlen(word);
		const char *text = told ? o->text : "";
		if (!strncmp(text, word, label) && !strncmp(text + label, ": ", 2))
			text += label + 2; // said already
		snprintf(piece, sizeof(piece), "[%c] %s%s%s",
			 o->holds == HOLDS_TRUE  ? 'x' :
			 o->holds == HOLDS_FALSE ? '-' :
						   ' ',
			 word, told ? ": " : "", text);
		text_piece(&w, "  ", piece);
	}
	fputc('\n', to);
}

static void show_open(FILE *to, const struct finding *f)
{
	const struct verdict_case *c = f->cases[0];
	const struct witness *seen = c->about.witness;
	struct text_wrap w = {to, LABEL_COLUMNS, LABEL_COLUMNS, COLUMNS};
	size_t n = f->verdict != VERDICT_PROVEN && seen ? seen->nopen : 0, shown = n > 6 ? 6 : n;
	if (!n && !c->proof.also_open)
		return;
	fprintf(to, LABEL, "open");
	for (size_t i = 0; i < shown; i++)
		text_piece(&w, "; ", seen->open[i]);
	if (c->proof.also_open)
		text_piece(&w, "; ", c->proof.also_open);
	if (n > shown) {
		char more[32];
		snprintf(more, sizeof(more), "%zu more", n - shown);
		text_piece(&w, "; ", more);
	}
	fputc('\n', to);
}

// " (fd 8#1 closed, 9#1 open)", where several are in a finding that speaks of one.
static void fds_of(const struct verdict_case *c, char *buf, size_t bytes)
{
	struct describe_fd all[DESCRIBE_FDS];
	unsigned n = c->pass->waits ? describe_fds(c, all) : 0;
	size_t at = 0;
	*buf = 0;
	for (unsigned i = 0; i < n && at < bytes; i++)
		at += (size_t)snprintf(buf + at, bytes - at, "%s%d#%u %s", i ? ", " : " (fd ", all[i].fd,
				       all[i].gen, all[i].closed ? "closed" : "open");
	if (n && at < bytes)
		snprintf(buf + at, bytes - at, ")");
}

static void show_others(FILE *to, const struct finding *f)
{
	struct text_wrap w = {to, LABEL_COLUMNS, LABEL_COLUMNS, COLUMNS};
	if (f->n < 2)
		return;
	fprintf(to, LABEL, "also");
	for (size_t i = 1; i < f->n && i < 11; i++) {
		char piece[112 + 32 * DESCRIBE_FDS], name[CTP_NAME_TEXT], number[32];
		int n = snprintf(piece, sizeof(piece), "%s%s", i == 1 ? "co " : "",
				 report_number(f->cases[i], number, sizeof(number)));
		if (image_name(f->cases[i]->about.image, f->cases[i]->id, name))
			n += snprintf(piece + n, sizeof(piece) - (size_t)n, " \"%s\"", name);
		fds_of(f->cases[i], piece + n, sizeof(piece) - (size_t)n);
		text_piece(&w, ", ", piece);
	}
	if (f->n > 11)
		fprintf(to, " and %zu more", f->n - 11);
	fputc('\n', to);
}

// The same by what --group-by says.
static void show_groups(FILE *to, const struct report *r, const struct finding *f)
{
	enum { SHOWN = 10 };
	struct text_wrap w = {to, LABEL_COLUMNS, LABEL_COLUMNS, COLUMNS};
	struct group_by_part *parts;
	size_t n;
	if (group_by_parts(r, f, &parts, &n))
		return;
	if (n)
		fprintf(to, LABEL, "groups");
	for (size_t i = 0; i < n && i < SHOWN; i++) {
		char label[300], piece[340];
		const struct verdict_case *c = parts[i].first;
		snprintf(piece, sizeof(piece), "%zu %s", parts[i].n,
			 group_by_label(r, c->about.image, c->about.state, label, sizeof(label)));
		text_piece(&w, " · ", piece);
	}
	if (n > SHOWN)
		fprintf(to, " and %zu more", n - SHOWN);
	fputs(n ? "\n" : "", to);
	free(parts);
}

static void show_finding(FILE *to, const struct report *r, const struct finding *f,
			 const struct format_settings *s)
{
	char refuted[256];
	describe_refuted(f->cases[0], refuted, sizeof(refuted));
	show_head(to, r, f, s);
	show_waiting(to, f, s);
	show_closed(to, r, f, s);
	show_opened(to, r, f);
	show_timeline(to, f);
	show_evidence(to, f);
	show_open(to, f);
	if (r->group_by == GROUP_BY_SITE)
		show_others(to, f);
	show_groups(to, r, f);
	fputs("  refuted if", to);
	text_words(&(struct text_wrap){to, LABEL_COLUMNS, LABEL_COLUMNS + 1, COLUMNS}, refuted);
	fputc('\n', to);
	fprintf(to, LABEL, "fix");
	text_words(&(struct text_wrap){to, LABEL_COLUMNS, LABEL_COLUMNS, COLUMNS},
		   f->cases[0]->fix ? f->cases[0]->fix : f->pass->fix);
	fputs("\n\n", to);
}

// One line: what, how many, where.
static void show_short(FILE *to, const char *indent, const struct finding *f, const struct format_settings *s)
{
	char head[128], place[300], by[300];
	const struct symbols_frame *closer = f->closer.n ? frames_first_own(&f->closer) : NULL;
	head_of(head, sizeof(head), f, s);
	at_place(place, sizeof(place), &f->waiter);
	at_place(by, sizeof(by), &f->closer);
	fprintf(to, "%s%s  %zu coroutine%s%s", indent, head, f->n, f->n == 1 ? "" : "s", place);
	if (closer)
		fprintf(to, ", %s%s", f->cases[0]->actor.did, *by == ' ' && by[1] == 'a' ? by + 3 : by);
	fprintf(to, "%s\n", f->known ? "  (known)" : "");
}

// Where there are many: how many of which verdict, and a line for each that is told in full below.
static void show_summary(FILE *to, const struct report *r, size_t whole, const struct format_settings *s)
{
	size_t of[VERDICT_PROVEN + 1] = {0};
	const char *before = ": ";
	for (size_t i = 0; i < r->nfindings; i++)
		of[r->findings[i].verdict]++;
	fprintf(to, "summary  %zu findings", r->nfindings);
	for (unsigned v = VERDICT_PROVEN; v > 0; v--) {
		if (of[v])
			fprintf(to, "%s%zu %s", before, of[v], verdict_words[v]);
		before = of[v] ? ", " : before;
	}
	fputc('\n', to);
	for (size_t i = 0; i < whole; i++)
		show_short(to, "  ", &r->findings[i], s);
	fputc('\n', to);
}

static void show_run(FILE *to, const struct world *w)
{
	char text[4096];
	bool any = false;
	for (unsigned i = 0; i < RUN_IDENTITY_LINES; i++) {
		const char *label = run_identity_line(w, i, text, sizeof(text));
		if (label)
			fprintf(to, "%-8s %s\n", label, text);
		any |= label != NULL;
	}
	fputs(any ? "\n" : "", to);
}

int format_text(FILE *to, const struct report *r, const struct format_settings *settings)
{
	show_run(to, r->world);
	if (r->world->form == WORLD_CORE)
		listing_text(to, r);
	size_t whole = settings->full || r->nfindings <= FORMAT_WHOLE ? r->nfindings : FORMAT_WHOLE;
	if (r->nfindings > SUMMARY_FROM)
		show_summary(to, r, whole, settings);
	for (size_t i = 0; i < whole; i++)
		show_finding(to, r, &r->findings[i], settings);
	if (whole < r->nfindings)
		fprintf(to, "%zu more, in short; --full shows all, --format=json for programs:\n",
			r->nfindings - whole);
	for (size_t i = whole; i < r->nfindings; i++)
		show_short(to, "", &r->findings[i], settings);
	fputs(whole < r->nfindings ? "\n" : "", to);
	crash_text(to, r);
	format_text_longest(to, r);
	format_text_covered(to, r);
	const char *module;
	for (size_t i = 0; i < r->world->nimages; i++)
		for (size_t k = 0; r->symbols[i] && (module = symbols_mismatch(r->symbols[i], k)); k++)
			fprintf(to,
				"note     %s is another build than the one that ran: its symbols were "
				"not used\n",
				module);
	for (size_t i = 0; i < r->results.nfacts; i++) {
		const struct fact *fact = &r->results.facts[i];
		fprintf(to, "%s%s", i ? "         " : "facts    ", fact->rule);
		text_words(&(struct text_wrap){to, 9, 9 + strlen(fact->rule), COLUMNS}, fact->message);
		fputc('\n', to);
	}
	if (r->compared || r->suppressed)
		fprintf(to, "compared %zu new, %zu known, %zu suppressed\n", r->nfindings - r->known,
			r->known, r->suppressed);
	for (size_t i = 0; i < r->nunused; i++)
		fprintf(to, "unused   suppression '%s' matches nothing any more\n", r->unused[i]);
	fprintf(to, "%zu findings, %" PRIu64 " coroutines, %" PRIu64 " lost, %" PRIu64 " healthy waiters\n",
		r->nfindings, r->world->coroutines, r->world->lost, r->healthy);
	if (r->others)
		fprintf(to, "%zu finding%s of other rules: without --lost-wakeup all are shown\n", r->others,
			r->others == 1 ? "" : "s");
	return 0;
}
