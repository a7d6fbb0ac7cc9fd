// SPDX-License-Identifier: MIT
//
// The line of a coroutine or of a group, in the style of Go's dumps:
//
//   coroutine 41 conn_reader [fd 7#3 EPOLLIN, 5m12s]  created at server.c:81
//
// The descriptors of a group are merged and shortened.
#include <inttypes.h>
#include <string.h>

#include "base/idmap.h"
#include "base/text.h"
#include "ctp/words.h"
#include "ps/print/text.h"

enum { FDS_SHOWN = 3, NAMES_SHOWN = 3 };

static void print_closed(const struct page *p, const char *what)
{
	fprintf(p->to, " %s(%s)%s", text_paint(p, TEXT_RED), what, text_paint(p, TEXT_PLAIN));
}

// ------------------------------------------------------------- what it waits for

static void print_fd(const struct page *p, const struct coroutine_wait *w, const char *before)
{
	char events[96];
	const char *kind;
	words_events(w->events, events, sizeof(events));
	fprintf(p->to, "%sfd %d#%" PRIu32 " %s", before, w->fd, w->gen, events);
	if (!fds_open(p->r->fds, w->fd, w->gen, &kind))
		print_closed(p, "closed");
}

// What the coroutines of a group wait for, put together.
struct summary {
	struct idmap seen; // descriptors, by number and generation
	size_t shown, closed;
	uint32_t events;
};

static void add_wait(const struct page *p, struct summary *m, const struct coroutine_wait *w)
{
	uint64_t key = (uint64_t)(uint32_t)w->fd << 32 | w->gen;
	const char *kind;
	if (idmap_get(&m->seen, key) != IDMAP_NONE || idmap_set(&m->seen, key, 0))
		return;
	if (m->shown < FDS_SHOWN)
		fprintf(p->to, "%s%d#%" PRIu32, m->shown++ ? ", " : "fds ", w->fd, w->gen);
	m->events |= w->events;
	m->closed += !fds_open(p->r->fds, w->fd, w->gen, &kind);
}

static bool all_the_same(const struct group *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->first[i].nwaits != 1 || g->first[i].waits[0].fd != g->first->waits[0].fd ||
		    g->first[i].waits[0].gen != g->first->waits[0].gen)
			return false;
	return true;
}

static bool print_summary(const struct page *p, const struct group *g)
{
	struct summary m = {.shown = 0};
	char events[96], closed[40];
	for (size_t i = 0; i < g->n; i++)
		for (unsigned k = 0; k < g->first[i].nwaits; k++)
			add_wait(p, &m, &g->first[i].waits[k]);
	if (m.seen.n > m.shown)
		fprintf(p->to, " and %zu more", m.seen.n - m.shown);
	if (m.shown) {
		words_events(m.events, events, sizeof(events));
		fprintf(p->to, " %s", events);
	}
	snprintf(closed, sizeof(closed), "%zu closed", m.closed);
	if (m.closed)
		print_closed(p, closed);
	idmap_deinit(&m.seen);
	return m.shown > 0;
}

// Whether there was anything.
static bool print_waits(const struct page *p, const struct group *g)
{
	if (g->n > 1 && !all_the_same(g))
		return print_summary(p, g);
	for (unsigned i = 0; i < g->first->nwaits; i++)
		print_fd(p, &g->first->waits[i], i ? ", " : "");
	return g->first->nwaits > 0;
}

// ------------------------------------------------------------------- the line

static void print_running(const struct page *p, const struct coroutine *c)
{
	const struct threads_one *t = report_thread(p->r, c);
	fputs("running", p->to);
	if (t && t->tid)
		fprintf(p->to, " on thread %d", (int)t->tid);
	else if (p->r->found->probes)
		fprintf(p->to, " on thread %" PRIu32, c->thread);
	if (t && *t->call)
		fprintf(p->to, "%s %s", strncmp(t->call, "on ", 3) ? " in" : "", t->call);
}

// Since when one is as it is that was there when ctp-run attached, is not known.
static bool any_before(const struct group *g)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->first[i].before)
			return true;
	return false;
}

void text_head_state(const struct page *p, const struct group *g)
{
	const struct coroutine *c = g->first;
	const char *word = report_status(c);
	char longest[32], least[32];
	fputc('[', p->to);
	if (c->life == CTP_RUNNING) {
		print_running(p, c);
	} else if (c->life != CTP_SUSPENDED || c->status != STATUS_WAITS || !print_waits(p, g)) {
		fputs(word, p->to);
		if (c->status == STATUS_READY) {
			fputs(", ", p->to);
			print_waits(p, g);
		}
	}
	text_duration(longest, sizeof(longest), c->since_ns);
	text_duration(least, sizeof(least), c[g->n - 1].since_ns);
	fputs(any_before(g) ? ", at least " : ", ", p->to);
	if (g->n > 1 && strcmp(longest, least))
		fprintf(p->to, "%s to ", least);
	fprintf(p->to, "%s]", longest);
}

void text_head_created(const struct page *p, const struct group *g)
{
	char at[192];
	text_frames_site(p, report_created_at(p->r, g->first), at, sizeof(at));
	if (*at)
		fprintf(p->to, "  created at %s%s", at, g->one_creator ? "" : " and elsewhere");
}

void text_head_finding(const struct page *p, const struct group *g)
{
	const struct coroutine *c = g->first;
	if (g->n == 1 && c->so_far)
		fprintf(p->to, "  %s%s %s so far%s", text_paint(p, TEXT_RED), c->rule,
			c->so_far == SO_FAR_PROVEN ? "proven" : "likely", text_paint(p, TEXT_PLAIN));
}

void text_head_fd(const struct page *p, const struct fds_one *f)
{
	size_t n = f->kind ? strlen(f->kind) : 0;
	if (n && !strncmp(f->name, f->kind, n) && f->name[n] == ':') // "pipe:[123]" says it itself
		fprintf(p->to, "  %s", f->name);
	else if (n)
		fprintf(p->to, "  %s%s%s", f->kind, *f->name ? " " : "", f->name);
}

void text_head_fd_name(const struct page *p, const struct group *g)
{
	const char *kind = NULL, *one;
	struct fds_one f;
	if (g->first->nwaits && (g->n == 1 || all_the_same(g))) {
		const struct coroutine_wait *w = &g->first->waits[0];
		fds_describe(p->r->fds, w->fd, w->gen, &f);
		text_head_fd(p, &f);
		return;
	}
	for (size_t i = 0; i < g->n; i++)
		for (unsigned k = 0; k < g->first[i].nwaits; k++) {
			const struct coroutine_wait *w = &g->first[i].waits[k];
			if (fds_open(p->r->fds, w->fd, w->gen, &one) != 1)
				continue;
			if (kind && strcmp(kind, one))
				return;
			kind = one;
		}
	if (kind)
		fprintf(p->to, "  %s", kind);
}

// By what names the program calls them, the first few: of one, of all, or of those that have one.
static void print_names(const struct page *p, const struct group *g)
{
	const char *shown[NAMES_SHOWN];
	size_t n = 0, left = 0;
	for (size_t i = 0; i < g->n && !p->r->found->probes; i++) { // their names are the label
		const char *called = g->first[i].name;
		bool again = !called;
		for (size_t k = 0; k < n && !again; k++)
			again = !strcmp(shown[k], called);
		if (again || n == NAMES_SHOWN) {
			left += !again;
			continue;
		}
		fprintf(p->to, "%s\"%s\"", n ? ", " : " ", called);
		shown[n++] = called;
	}
	if (left)
		fprintf(p->to, " and %zu more", left);
}

void text_head(const struct page *p, const struct group *g)
{
	char label[128];
	report_label(p->r, g->first, label, sizeof(label));
	fputs(text_paint(p, TEXT_BOLD), p->to);
	if (g->n == 1)
		fprintf(p->to, "coroutine %" PRIu64 " %s", g->first->id, label);
	else if (p->r->wants->tree)
		fprintf(p->to, "%s x %zu", label, g->n);
	else
		fprintf(p->to, "%zu coroutines %s", g->n, label);
	fputs(text_paint(p, TEXT_PLAIN), p->to);
	print_names(p, g);
	fputc(' ', p->to);
	text_head_state(p, g);
}
