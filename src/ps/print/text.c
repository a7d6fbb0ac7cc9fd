// SPDX-License-Identifier: MIT
//
// The list for people: a line for each group (text_head.c), its innermost functions of the
// program's own below it (text_frames.c), and a last line with counts. Long lists of
// descriptors are shortened; JSON never is. Names come from the program: control characters
// are replaced.
#include "ps/listing/listing.h"
#include "ps/print/text.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "core/corefile.h"
#include "ctp/words.h"

enum { THREADS_SHOWN = 8 };

const char *text_paint(const struct page *p, const char *code)
{
	return p->color ? code : "";
}

static int print_group(const struct page *p, const struct group *g)
{
	const struct coroutine *c = g->first;
	const struct report_wants *w = p->r->wants;
	const struct threads_one *t = c->life == CTP_RUNNING ? report_thread(p->r, c) : NULL;
	uint32_t stack = t ? t->stack : g->stack;
	bool one_line = w->all && !w->whole;
	struct frames f = {0};
	int e = 0;
	fputc(' ', p->to);
	text_head(p, g);
	if (c->life == CTP_SUSPENDED && one_line && !(e = report_frames(p->r, stack, &f)))
		text_frames_way(p, &f);
	frames_deinit(&f);
	text_head_created(p, g);
	text_head_fd_name(p, g);
	text_head_finding(p, g);
	fputc('\n', p->to);
	if (!e && w->why)
		e = text_why(p, g);
	if (!e && c->life == CTP_SUSPENDED && !one_line)
		e = text_frames_stack(p, w->whole ? "    " : "     ", stack);
	else if (!e && c->life == CTP_RUNNING && !one_line && stack)
		e = text_frames_stack(p, w->whole ? "    " : "     ", stack);
	else if (c->life == CTP_RUNNING && !stack && !p->r->found->probes)
		fputs(p->r->found->core ?
			      "     (what ran leaves no stack in the tables)\n" :
			      "     (it computes: a stack in use cannot be read without stopping it)\n",
		      p->to);
	return e;
}

// Those that have ended, one by one: what is left of them is their stack.
static void print_ended(const struct page *p)
{
	for (size_t i = 0; i < p->r->tables.nended && !p->r->wants->tree; i++) {
		const struct group one = {.first = &p->r->tables.ended[i], .n = 1, .one_creator = true};
		fputc(' ', p->to);
		text_head(p, &one);
		text_head_created(p, &one);
		fputc('\n', p->to);
	}
}

// Threads that run no coroutine; the others stand with theirs.
static int print_threads(const struct page *p)
{
	const struct tables *t = &p->r->tables;
	size_t own = 0;
	int e = 0;
	for (size_t i = 0; !e && i < t->nthreads; i++) {
		const struct threads_one *one = &p->r->threads.v[i];
		char ns[32];
		if ((t->threads[i].current && t->threads[i].current != t->threads[i].native) ||
		    own++ >= THREADS_SHOWN)
			continue;
		fprintf(p->to, " thread %d on its own stack",
			one->tid ? (int)one->tid : (int)t->threads[i].tid);
		if (*one->call) {
			bool on = one->call[0] == 'o' && one->call[1] == 'n';
			text_duration(ns, sizeof(ns), one->waits_ns);
			fprintf(p->to, " [%s%s%s%s]", on ? "" : "in ", one->call, one->waits_ns ? ", " : "",
				one->waits_ns ? ns : "");
		}
		fputc('\n', p->to);
		if (p->r->wants->whole && one->stack)
			e = text_frames_stack(p, "    ", one->stack);
	}
	if (own > THREADS_SHOWN)
		fprintf(p->to, " and %zu more threads on their own stacks\n", own - THREADS_SHOWN);
	return e;
}

static void print_counts(const struct page *p)
{
	const struct tables *t = &p->r->tables;
	const char *least = t->partial ? "at least " : "";
	fprintf(p->to, "%zu coroutines: %" PRIu64 " suspended", t->n, t->suspended);
	if (t->ready || t->pooled)
		fprintf(p->to, " (%" PRIu64 " ready, %" PRIu64 " pooled)", t->ready, t->pooled);
	fprintf(p->to, ", %" PRIu64 " created, %" PRIu64 " running; ", t->created, t->running);
	fprintf(p->to, "ended: %s%" PRIu64 " finished, %s%" PRIu64 " destroyed\n", least, t->finished, least,
		t->destroyed);
	if (t->unplaced)
		fprintf(p->to,
			"%" PRIu64
			" more got no station, and are not listed: ctp-run -n makes room for more\n",
			t->unplaced);
}

static void print_before(const struct page *p)
{
	size_t n = 0;
	for (size_t i = 0; i < p->r->tables.n; i++)
		n += p->r->tables.coroutines[i].before;
	if (n)
		fprintf(p->to,
			"%zu of them are from before ctp-run attached, and have not run since: how long they wait, and who "
			"made them, is not known\n",
			n);
}

// What was there before ctp-run attached, and was not found in its memory then.
static void print_unlisted(const struct page *p, const struct listing *l)
{
	size_t n = 0;
	for (size_t i = 0; i < l->n; i++)
		n += !l->v[i].stackless;
	if (n)
		fprintf(p->to,
			"%zu more are from before ctp-run attached: it is not known since when they wait, nor who made them\n",
			n);
	if (n && *l->partial)
		fprintf(p->to, "not all of it was searched: %s\n", l->partial);
}

// Of a core file: how it came to be, and who ran then.
static void print_core(const struct page *p)
{
	const struct corefile *c = p->r->found->core;
	const struct ctp_crash *crash = &p->r->found->header.ext.crash;
	char signal[32], who[160], path[256];
	snprintf(path, sizeof(path), "%s", p->r->found->core_path);
	find_clean(path);
	fprintf(p->to, "(core file %s", path);
	if (c->signal)
		fprintf(p->to, ": %s on thread %" PRIu32, words_signal(c->signal, signal, sizeof(signal)),
			c->tid);
	if (crash->ready == 1 && crash->who)
		fprintf(p->to, ", which ran %s", report_who(p->r, crash->who, NULL, who, sizeof(who)));
	fputs(")\n", p->to);
}

static void print_top(const struct page *p)
{
	char command[160];
	find_command_of(p->r->found, command, sizeof(command));
	fprintf(p->to, "%spid %d%s  %s  ", text_paint(p, TEXT_BOLD), (int)p->r->found->pid,
		text_paint(p, TEXT_PLAIN), command);
	if (p->r->found->probes)
		fputs("(probes of cTP version 1: state and thread, no stacks) ", p->to);
	if (p->r->found->core)
		print_core(p);
	else if (p->r->found->engine)
		fprintf(p->to, "(ctp-run %d)\n", (int)p->r->found->engine);
	else
		fputs("(its ctp-run is gone)\n", p->to);
}

// The innermost place of the program's own on a group's stack.
static void place_of(const struct page *p, const struct group *g, char *out, size_t bytes)
{
	struct frames f = {0};
	*out = '\0';
	if (!report_frames(p->r, g->stack, &f))
		for (size_t i = 0; i < f.n && !*out; i++)
			if (!frames_is_library(f.items[i]))
				text_frames_place(p, f.items[i], out, bytes);
	frames_deinit(&f);
}

// How many of a group have this rule and verdict; 0 if an earlier one has been counted for them.
static size_t alike(const struct group *g, size_t at)
{
	const struct coroutine *c = &g->first[at];
	size_t n = 0;
	for (size_t i = 0; i < g->n; i++)
		if (g->first[i].so_far == c->so_far && !strcmp(g->first[i].rule, c->rule)) {
			if (i < at)
				return 0;
			n++;
		}
	return n;
}

// In the words of ctp-run's own line.
static void print_finding(const struct page *p, const struct group *g, const struct coroutine *c, size_t n)
{
	bool proven = c->so_far == SO_FAR_PROVEN;
	char at[192];
	place_of(p, g, at, sizeof(at));
	fprintf(p->to, "%s%s %s so far: %zu coroutine%s%s%s%s%s\n", text_paint(p, TEXT_RED), c->rule,
		proven ? "proven" : "likely", n, n == 1 ? "" : "s", *at ? " at " : "", at,
		proven ? ", can never be woken" : "", text_paint(p, TEXT_PLAIN));
}

static void print_findings(const struct page *p)
{
	bool any = false;
	for (size_t i = 0; i < p->r->groups.n; i++) {
		const struct group *g = &p->r->groups.v[i];
		for (size_t k = 0; k < g->n; k++) {
			size_t n = g->first[k].so_far ? alike(g, k) : 0;
			if (n)
				print_finding(p, g, &g->first[k], n);
			any |= n > 0;
		}
	}
	if (!any && p->r->judged && !p->r->wants->nids)
		fputs("no finding so far\n", p->to);
}

int text_write(FILE *to, const struct report *r, bool color)
{
	const struct page p = {to, r, color};
	int e = 0;
	print_top(&p);
	if (!r->wants->all && !r->wants->tree)
		print_findings(&p);
	if (r->wants->tree)
		e = text_tree(&p);
	for (size_t i = 0; !r->wants->tree && !e && i < r->groups.n; i++)
		e = print_group(&p, &r->groups.v[i]);
	const struct report_wants *w = r->wants;
	const struct listing_wants wants = {w->all, w->whole, w->tree, w->why, w->ids, w->nids};
	if (!e && r->unlisted)
		e = listing_text_groups(to, r->unlisted, &wants, color);
	const char *changed;
	for (size_t i = 0; (changed = symbols_mismatch(r->symbols, i)); i++)
		fprintf(to, "no names from %s: it is another build than the one that runs\n", changed);
	if (r->tables.unsettled)
		fprintf(to,
			"%zu coroutines were being switched all the while: they may be shown as of two moments\n",
			r->tables.unsettled);
	if (r->wants->nids)
		return e;
	print_ended(&p);
	if (!e)
		e = print_threads(&p);
	print_counts(&p);
	print_before(&p);
	if (r->unlisted)
		print_unlisted(&p, r->unlisted);
	return e;
}
