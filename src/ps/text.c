// SPDX-License-Identifier: MIT
//
// The list for people: a line for each group, its innermost own functions below
// it, and a last line that counts. What a group has most of (descriptors) is
// shortened; JSON never is. Names come from the program: what could steer a
// terminal is taken out.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/idmap.h"
#include "base/text.h"
#include "ctp/words.h"
#include "ps/report.h"

enum { SHOWN = 6, WAY_SHOWN = 3, FDS_SHOWN = 3, THREADS_SHOWN = 8 };

struct page {
	FILE *to;
	const struct report *r;
	bool color;
};

static const char *paint(const struct page *p, const char *code)
{
	return p->color ? code : "";
}
#define BOLD "\033[1m"
#define RED "\033[31m"
#define PLAIN "\033[0m"

static const char *name(const struct symbols_frame *f, char *buf, size_t bytes)
{
	frames_name(f, buf, bytes);
	find_clean(buf);
	return buf;
}

// "file.c:12", else the module; "" if neither is known.
static void place(const struct page *p, const struct symbols_frame *f, char *buf, size_t bytes)
{
	*buf = 0;
	if (f && f->file)
		snprintf(buf, bytes, "%s:%d", p->r->whole ? frames_path(f) : file_base(f->file), f->line);
	else if (f && f->symbol && f->module)
		snprintf(buf, bytes, "%s", file_base(f->module));
	find_clean(buf);
}

static void print_frame(const struct page *p, const struct symbols_frame *f, int number)
{
	char function[96], at[96];
	name(f, function, sizeof(function));
	place(p, f, at, sizeof(at));
	if (number >= 0)
		fprintf(p->to, "    #%-2d ", number);
	else
		fputs("     ", p->to);
	fprintf(p->to, *at ? "%-24s  %s\n" : "%s\n", function, at);
}

static bool any_own(const struct frames *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (!frames_is_library(f->items[i]))
			return true;
	return false;
}

static void print_stack(const struct page *p, const struct frames *f)
{
	bool own = any_own(f);
	size_t shown = 0, i;
	for (i = 0; i < f->n && (p->r->whole || shown < SHOWN); i++) {
		if (!p->r->whole && own && frames_is_library(f->items[i]))
			continue;
		print_frame(p, f->items[i], p->r->whole ? (int)i : -1);
		shown++;
	}
	size_t left = 0;
	for (; i < f->n; i++)
		left += !own || !frames_is_library(f->items[i]);
	if (left)
		fprintf(p->to, "     ... %zu more\n", left);
	if (!f->captured)
		fputs("     (its stack could not be read)\n", p->to);
	if (p->r->whole && (f->flags & CTP_STACK_TRUNCATED))
		fputs("    ... cut off here\n", p->to);
	if (f->flags & CTP_STACK_GUESSED)
		fputs("     (partly guessed from frame pointers)\n", p->to);
}

// On one line, for --all.
static void print_way(const struct page *p, const struct frames *f)
{
	bool own = any_own(f);
	size_t shown = 0;
	char function[96];
	for (size_t i = 0; i < f->n && shown < WAY_SHOWN; i++)
		if (!own || !frames_is_library(f->items[i]))
			fprintf(p->to, "%s%s", shown++ ? " < " : "  in ", name(f->items[i], function, sizeof(function)));
}

static void print_fd(const struct page *p, const struct coroutine_wait *w)
{
	char events[96];
	struct fds_one f;
	fds_describe(p->r->fds, w->fd, w->gen, &f);
	words_events(w->events, events, sizeof(events));
	fprintf(p->to, "  fd %d#%" PRIu32 " %s", w->fd, w->gen, events);
	if (f.kind)
		fprintf(p->to, " (%s%s%s)", f.kind, *f.name ? " " : "", f.name);
	else if (!f.open)
		fprintf(p->to, " %s(closed)%s", paint(p, RED), paint(p, PLAIN));
}

// What the coroutines of a group wait for, put together.
struct summary {
	struct idmap seen; // descriptors, by number and generation
	size_t shown, closed;
	uint32_t events;
	const char *kind; // of all that are open; NULL = they differ
	bool any_kind;
};

static void add_wait(const struct page *p, struct summary *m, const struct coroutine_wait *w)
{
	uint64_t key = (uint64_t)(uint32_t)w->fd << 32 | w->gen;
	const char *kind;
	if (idmap_get(&m->seen, key) != IDMAP_NONE || idmap_set(&m->seen, key, 0))
		return;
	if (m->shown < FDS_SHOWN)
		fprintf(p->to, "%s%d#%" PRIu32, m->shown++ ? ", " : "  fds ", w->fd, w->gen);
	m->events |= w->events;
	int open = fds_open(p->r->fds, w->fd, w->gen, &kind);
	m->closed += !open;
	if (open == 1) {
		m->kind = !m->any_kind || (m->kind && !strcmp(m->kind, kind)) ? kind : NULL;
		m->any_kind = true;
	}
}

static bool all_the_same(const struct group *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->first[i].nwaits != 1 || g->first[i].waits[0].fd != g->first->waits[0].fd ||
		    g->first[i].waits[0].gen != g->first->waits[0].gen)
			return false;
	return true;
}

static void print_waits(const struct page *p, const struct group *g)
{
	struct summary m = { .shown = 0 };
	char events[96];
	if (g->n == 1 || all_the_same(g)) {
		for (unsigned i = 0; i < g->first->nwaits; i++)
			print_fd(p, &g->first->waits[i]);
		return;
	}
	for (size_t i = 0; i < g->n; i++)
		for (unsigned k = 0; k < g->first[i].nwaits; k++)
			add_wait(p, &m, &g->first[i].waits[k]);
	if (m.seen.n > m.shown)
		fprintf(p->to, " and %zu more", m.seen.n - m.shown);
	if (m.shown) {
		words_events(m.events, events, sizeof(events));
		fprintf(p->to, " %s", events);
	}
	if (m.kind)
		fprintf(p->to, " (%s)", m.kind);
	if (m.closed)
		fprintf(p->to, " %s(%zu closed)%s", paint(p, RED), m.closed, paint(p, PLAIN));
	idmap_deinit(&m.seen);
}

static void print_time(const struct page *p, const struct group *g)
{
	const struct coroutine *c = g->first;
	char longest[32], least[32];
	text_duration(longest, sizeof(longest), c->since_ns);
	text_duration(least, sizeof(least), c[g->n - 1].since_ns);
	if (c->life == CTP_RUNNING) {
		const struct tables_thread *t = tables_thread(&p->r->tables, c->thread);
		if (t)
			fprintf(p->to, "  running on thread %" PRIu32 " for %s", t->tid, longest);
		else
			fprintf(p->to, "  running for %s", longest);
		return;
	}
	fputs(c->life == CTP_CREATED ? "  never ran, made " : "  waiting ", p->to);
	if (g->n > 1 && strcmp(longest, least))
		fprintf(p->to, "%s to ", least);
	fprintf(p->to, c->life == CTP_CREATED ? "%s ago" : "%s", longest);
}

static void print_created(const struct page *p, const struct group *g)
{
	char at[96];
	place(p, report_created_at(p->r, g->first), at, sizeof(at));
	if (*at)
		fprintf(p->to, "  created at %s%s", at, g->one_creator ? "" : " and elsewhere");
}

static int print_group(const struct page *p, const struct group *g)
{
	const struct coroutine *c = g->first;
	char function[96];
	report_label(p->r, c, function, sizeof(function));
	if (g->n == 1)
		fprintf(p->to, " %scoroutine %" PRIu64 " %s%s", paint(p, BOLD), c->id, function, paint(p, PLAIN));
	else
		fprintf(p->to, " %s%zu coroutines %s%s", paint(p, BOLD), g->n, function, paint(p, PLAIN));
	print_time(p, g);
	print_waits(p, g);
	struct frames f = { 0 };
	int e = c->life == CTP_SUSPENDED ? report_frames(p->r, g->stack, &f) : 0;
	if (!e && p->r->all && !p->r->whole)
		print_way(p, &f);
	print_created(p, g);
	fputs(c->life == CTP_RUNNING ? "  (its stack is in use: none is saved)\n" : "\n", p->to);
	if (!e && c->life == CTP_SUSPENDED && (!p->r->all || p->r->whole))
		print_stack(p, &f);
	frames_deinit(&f);
	return e;
}

// Threads that run no coroutine; the others stand with theirs.
static void print_threads(const struct page *p)
{
	const struct tables *t = &p->r->tables;
	size_t own = 0;
	for (size_t i = 0; i < t->nthreads; i++)
		if (!t->threads[i].current || t->threads[i].current == t->threads[i].native)
			if (own++ < THREADS_SHOWN)
				fprintf(p->to, "%s%" PRIu32, own == 1 ? "on their own stacks: threads " : ", ",
					t->threads[i].tid);
	if (own > THREADS_SHOWN)
		fprintf(p->to, " and %zu more", own - THREADS_SHOWN);
	if (own)
		fputc('\n', p->to);
}

static void print_counts(const struct page *p)
{
	const struct tables *t = &p->r->tables;
	const char *least = t->partial ? "at least " : "";
	fprintf(p->to, "%zu coroutines: %" PRIu64 " suspended, %" PRIu64 " created, %" PRIu64 " running; ", t->n,
		t->suspended, t->created, t->running);
	fprintf(p->to, "ended: %s%" PRIu64 " finished, %s%" PRIu64 " destroyed\n", least, t->finished, least,
		t->destroyed);
}

int text_write(FILE *to, const struct report *r, bool color)
{
	const struct page p = { to, r, color };
	char command[160];
	find_command(r->found->pid, command, sizeof(command));
	fprintf(to, "%spid %d%s  %s  ", paint(&p, BOLD), (int)r->found->pid, paint(&p, PLAIN), command);
	if (r->found->engine)
		fprintf(to, "(ctp-run %d)\n", (int)r->found->engine);
	else
		fputs("(its ctp-run is gone)\n", to);
	int e = 0;
	for (size_t i = 0; !e && i < r->groups.n; i++)
		e = print_group(&p, &r->groups.v[i]);
	const char *changed;
	for (size_t i = 0; (changed = symbols_mismatch(r->symbols, i)); i++)
		fprintf(to, "no names from %s: it is another build than the one that runs\n", changed);
	if (r->tables.unsettled)
		fprintf(to, "%zu coroutines were being switched all the while: they may be shown as of two moments\n",
			r->tables.unsettled);
	print_threads(&p);
	print_counts(&p);
	return e;
}
