// SPDX-License-Identifier: MIT
//
// The report as Markdown (GitHub's flavour), for a pull request or an issue: a table of all
// findings, then each one with its stacks folded away. Text that comes from the program
// (names, paths, sources) is escaped or in a fenced block.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/format/format.h"
#include "analyze/report/accounting.h"
#include "analyze/report/describe.h"
#include "analyze/report/run_identity.h"
#include "base/text.h"

#define FRAMES_SHOWN 16

// Text in a paragraph or a table's cell: nothing in it is markup.
static void put(FILE *to, const char *s)
{
	for (; *s; s++) {
		if (strchr("\\`*_{}[]<>#|~&", *s))
			fputc('\\', to);
		fputc(*s == '\n' ? ' ' : *s, to);
	}
}

static void place_of(const struct symbols_frame *f, char *buf, size_t bytes)
{
	char name[256];
	if (!f)
		snprintf(buf, bytes, "?");
	else if (f->file)
		snprintf(buf, bytes, "%s (%s:%d)", frames_name(f, name, sizeof(name)), frames_path(f),
			 f->line);
	else
		snprintf(buf, bytes, "%s", frames_name(f, name, sizeof(name)));
}

static void put_cell(FILE *to, const char *s)
{
	fputs("| ", to);
	put(to, s);
	fputc(' ', to);
}

static void put_row(FILE *to, const struct finding *f)
{
	char waiter[512], closer[512] = "", print[17];
	place_of(frames_first_own(&f->waiter), waiter, sizeof(waiter));
	if (f->closer.n)
		place_of(frames_first_own(&f->closer), closer, sizeof(closer));
	snprintf(print, sizeof(print), "%016" PRIx64, f->fingerprint);
	fprintf(to, "| %s %s | **%s** | %zu ", f->pass->rule, f->pass->title, verdict_words[f->verdict],
		f->n);
	put_cell(to, waiter);
	put_cell(to, closer);
	fprintf(to, "| `%s`%s |\n", print, f->known ? " (known)" : "");
}

static void put_stack(FILE *to, const struct finding *f, const char *title, const struct frames *stack)
{
	size_t shown = stack->n < FRAMES_SHOWN ? stack->n : FRAMES_SHOWN;
	char place[1024];
	if (!stack->n)
		return;
	fprintf(to, "%s:\n\n```\n", title);
	for (size_t i = 0; i < shown; i++) {
		char *source = symbols_source_line(f->symbols, stack->items[i]);
		place_of(stack->items[i], place, sizeof(place));
		bool fence = source && strstr(source, "```");
		fprintf(to, "#%zu %s%s%s\n", i, place, source && !fence ? "    " : "",
			source && !fence ? source : "");
		free(source);
	}
	if (stack->n > shown)
		fprintf(to, "... %zu more\n", stack->n - shown);
	fputs("```\n\n", to);
}

static void put_evidence(FILE *to, const struct verdict_case *c)
{
	for (unsigned i = 0; i < PROOFS; i++) {
		const struct obligation *o = &c->proof.items[i];
		if (!o->text && o->holds == HOLDS_OPEN)
			continue;
		const char *word = describe_proof(c, i), *text = o->text ? o->text : "";
		const char *said = strstr(text, word);
		if (said && !said[strlen(word)])
			text = "";
		else if (said == text && !strncmp(text + strlen(word), ": ", 2))
			text += strlen(word) + 2;
		fprintf(to, "- [%c] %s%s", o->holds == HOLDS_TRUE ? 'x' : ' ', word, *text ? ": " : "");
		put(to, text);
		fputs(o->holds == HOLDS_FALSE ? " (does not hold)\n" : "\n", to);
	}
	fputc('\n', to);
}

static void put_timeline(FILE *to, const struct report *r, const struct verdict_case *c)
{
	if (!c->nevents)
		return;
	fputs("| time | clock | who | what |\n|---|---|---|---|\n", to);
	for (unsigned i = 0; i < c->nevents; i++) {
		const struct world *w = c->about.world;
		char clock[RUN_IDENTITY_TIME], who[256] = "";
		fprintf(to, "| %+.6f s | %s ", (double)(int64_t)(c->events[i].ns - w->start_ns) / 1e9,
			run_identity_clock(w, c->events[i].ns, clock));
		if (c->events[i].id)
			report_who(r, c->about.image, c->events[i].id, who, sizeof(who));
		put_cell(to, who);
		put_cell(to, c->events[i].what);
		fputs("|\n", to);
	}
	fputc('\n', to);
}

// What is so, and why: each on a line of its own.
static void put_message(FILE *to, char *text)
{
	char *why = NULL;
	for (char *at = text; (at = strstr(at, ": ")); at += 2)
		why = at;
	if (why) {
		why[1] = '\0';
		put(to, text);
		fputc('\n', to);
	}
	put(to, why ? why + 2 : text);
	fputs(".\n\n", to);
}

static void put_finding(FILE *to, const struct report *r, const struct finding *f)
{
	const struct verdict_case *c = f->cases[0];
	char text[1024], title[64];
	fprintf(to, "### %s %s: %s, %zu coroutine%s\n\n", f->pass->rule, f->pass->title,
		verdict_words[f->verdict], f->n, f->n == 1 ? "" : "s");
	describe_message(r, f, text, sizeof(text));
	put_message(to, text);
	snprintf(title, sizeof(title), "%c%s",
		 c->label[0] >= 'a' && c->label[0] <= 'z' ? c->label[0] - 32 : c->label[0], c->label + 1);
	put_stack(to, f, title, &f->waiter);
	if (c->actor.did) {
		snprintf(title, sizeof(title), "%c%s", c->actor.did[0] - 32, c->actor.did + 1);
		put_stack(to, f, title, &f->closer);
	}
	fputs("<details><summary>Timeline and evidence</summary>\n\n", to);
	put_timeline(to, r, c);
	put_evidence(to, c);
	describe_refuted(c, text, sizeof(text));
	fputs("Refuted if ", to);
	put(to, text);
	fputs(".\n\n</details>\n\n**Fix:** ", to);
	put(to, c->fix ? c->fix : f->pass->fix ? f->pass->fix : "");
	fputs("\n\n", to);
}

static void put_run(FILE *to, const struct world *w)
{
	char text[4096];
	bool any = false;
	for (unsigned i = 0; i < RUN_IDENTITY_LINES; i++) {
		const char *label = run_identity_line(w, i, text, sizeof(text));
		if (!label)
			continue;
		fprintf(to, "- %s: ", label);
		put(to, text);
		fputc('\n', to);
		any = true;
	}
	fputs(any ? "\n" : "", to);
}

int format_markdown(FILE *to, const struct report *r, const struct format_settings *settings)
{
	const struct world *w = r->world;
	char span[32], accounts[256];
	(void)settings;
	text_duration(span, sizeof(span), w->duration_ns);
	put_run(to, w);
	fprintf(to, "## ctp: %zu finding%s\n\n", r->nfindings, r->nfindings == 1 ? "" : "s");
	if (r->nfindings)
		fputs("| rule | verdict | coroutines | where | by | fingerprint |\n|---|---|---|---|---|---|\n",
		      to);
	for (size_t i = 0; i < r->nfindings; i++)
		put_row(to, &r->findings[i]);
	fputs(r->nfindings ? "\n" : "", to);
	for (size_t i = 0; i < r->nfindings && i < FORMAT_WHOLE; i++)
		put_finding(to, r, &r->findings[i]);
	fprintf(to,
		"%" PRIu64 " coroutine%s, %" PRIu64 " switches on %" PRIu64 " thread%s in %s; %" PRIu64
		" records lost; %" PRIu64 " healthy waiter%s.\n\n%s.\n",
		w->coroutines, w->coroutines == 1 ? "" : "s", w->counts.switches, w->threads,
		w->threads == 1 ? "" : "s", span, w->lost, r->healthy, r->healthy == 1 ? "" : "s",
		accounting_text(r, accounts, sizeof(accounts)));
	if (r->others)
		fprintf(to, "\n%zu finding%s of other rules.\n", r->others, r->others == 1 ? "" : "s");
	for (size_t i = 0; i < r->results.nfacts; i++) {
		fprintf(to, "%s- %s ", i ? "" : "\n", r->results.facts[i].rule);
		put(to, r->results.facts[i].message);
		fputc('\n', to);
	}
	for (size_t i = 0; i < w->ncoverage; i++) {
		fputs(i || r->results.nfacts ? "- " : "\n- ", to);
		put(to, w->coverage[i]);
		fputc('\n', to);
	}
	return 0;
}
