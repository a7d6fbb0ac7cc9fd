// SPDX-License-Identifier: MIT
//
// The listing for people, in the manner of ps/print/text.c: a line for each group, the innermost
// functions of the program's own below it, and a last line with counts.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "ctp/words.h"
#include "ps/listing/fd_names.h"
#include "ps/listing/listing.h"
#include "ps/listing/listing_tree.h"
#include "ps/read/find.h"

#define BOLD "\033[1m"
#define RED "\033[31m"
#define PLAIN "\033[0m"

enum { FRAMES_SHOWN = 6, WAY_SHOWN = 3, FDS_SHOWN = 3, THREADS_SHOWN = 8 };

struct sheet {
	FILE *to;
	const struct listing *l;
	const struct listing_wants *w;
	bool color;
};

static const char *paint(const struct sheet *p, const char *code)
{
	return p->color ? code : "";
}

// ------------------------------------------------------------------------ frames

static void place(const struct sheet *p, const struct symbols_frame *f, char *buf, size_t bytes)
{
	*buf = 0;
	if (f->file)
		snprintf(buf, bytes, "%s:%d", p->w->whole ? frames_path(f) : file_base(f->file), f->line);
	else if (f->symbol && f->module)
		snprintf(buf, bytes, "%s", file_base(f->module));
	text_clean(buf);
}

static void print_frame(const struct sheet *p, const struct symbols_frame *f, int number)
{
	char function[96], at[160];
	frames_name(f, function, sizeof(function));
	text_clean(function);
	place(p, f, at, sizeof(at));
	fputs(p->w->whole ? "    " : "     ", p->to);
	if (number >= 0)
		fprintf(p->to, "#%-2d ", number);
	fprintf(p->to, *at ? "%-24s  %s\n" : "%s\n", function, at);
}

static void print_stack(const struct sheet *p, const struct frames *f, bool guessed)
{
	bool own = frames_outermost_own(f) != NULL, whole = p->w->whole;
	size_t shown = 0, left = 0, i;
	for (i = 0; i < f->n && (whole || shown < FRAMES_SHOWN); i++) {
		if (!whole && own && frames_is_library(f->items[i]))
			continue;
		print_frame(p, f->items[i], whole ? (int)i : -1);
		shown++;
	}
	for (; i < f->n; i++)
		left += !own || !frames_is_library(f->items[i]);
	if (left)
		fprintf(p->to, "     ... %zu more\n", left);
	if (guessed)
		fputs("     (partly guessed from frame pointers)\n", p->to);
}

static void print_way(const struct sheet *p, const struct frames *f)
{
	bool own = frames_outermost_own(f) != NULL;
	size_t shown = 0;
	char function[96];
	for (size_t i = 0; i < f->n && shown < WAY_SHOWN; i++) {
		if (own && frames_is_library(f->items[i]))
			continue;
		frames_name(f->items[i], function, sizeof(function));
		text_clean(function);
		fprintf(p->to, "%s%s", shown++ ? " < " : "  in ", function);
	}
}

// ------------------------------------------------------------------------- heads

static void print_waits(const struct sheet *p, const struct listing_group *g)
{
	char events[96];
	size_t shown = 0, n = 0, closed = 0;
	uint32_t mask = 0;
	for (size_t i = 0; i < g->n; i++)
		for (unsigned k = 0; k < g->first[i].nwaits; k++) {
			const struct listing_wait *w = &g->first[i].waits[k];
			n++;
			mask |= w->events;
			closed += w->fd < 0;
			if (w->fd >= 0 && shown < FDS_SHOWN)
				fprintf(p->to, "%s%d", shown++ ? ", " : ", fd ", w->fd);
		}
	if (!n)
		return;
	if (n - closed > shown)
		fprintf(p->to, " and %zu more", n - closed - shown);
	words_events(mask, events, sizeof(events));
	if (shown)
		fprintf(p->to, " %s", events);
	if (closed)
		fprintf(p->to, ", %s%zu registered and closed%s", paint(p, RED), closed, paint(p, PLAIN));
}

static void print_state(const struct sheet *p, const struct listing_group *g)
{
	const struct listing_row *r = g->first;
	static const char *const words[] = {[LISTING_SUSPENDED] = "suspended",
					    [LISTING_POOLED] = "suspended, idle in its engine",
					    [LISTING_CREATED] = "created",
					    [LISTING_RUNNING] = "running",
					    [LISTING_INITIAL] = "never started",
					    [LISTING_FINAL] = "at its end, and kept",
					    [LISTING_DESTROYING] = "being destroyed",
					    [LISTING_MAY_HAVE_ENDED] = "may have ended"};
	fprintf(p->to, " [%s", words[r->state]);
	if (r->tid)
		fprintf(p->to, " on thread %d", r->tid);
	for (size_t i = 0; r->tid && i < p->l->nthreads; i++)
		if (p->l->threads[i].tid == r->tid && *p->l->threads[i].call)
			fprintf(p->to, " in %s", p->l->threads[i].call);
	print_waits(p, g);
	if (r->lost && !p->l->only_lost)
		fprintf(p->to, ", %snothing leads to it%s", paint(p, RED), paint(p, PLAIN));
	fputs("]", p->to);
}

static void print_head(const struct sheet *p, const struct listing_group *g)
{
	const struct listing_row *r = g->first;
	char label[128];
	listing_label(p->l, r, label, sizeof(label));
	fputc(' ', p->to);
	fputs(paint(p, BOLD), p->to);
	if (g->n == 1)
		fprintf(p->to, "coroutine 0x%" PRIx64 " %s", r->id, label);
	else
		fprintf(p->to, "%zu coroutines %s", g->n, label);
	fputs(paint(p, PLAIN), p->to);
	print_state(p, g);
}

static void print_why(const struct sheet *p, const struct listing_row *r)
{
	char name[160], events[96];
	const char *kind;
	for (size_t i = 0; r->evidence[i]; i++)
		fprintf(p->to, "     %-9s %s\n", i ? "" : "evidence", r->evidence[i]);
	for (unsigned i = 0; i < r->nwaits; i++) {
		const struct listing_wait *w = &r->waits[i];
		words_events(w->events, events, sizeof(events));
		listing_fds_describe(p->l->fds, w->fd, &kind, name, sizeof(name));
		if (w->fd >= 0)
			fprintf(p->to, "     led to by fd %d, registered in epoll fd %d for %s  %s%s%s\n",
				w->fd, w->epfd, events, kind ? kind : "", *name ? " " : "", name);
		else
			fprintf(p->to,
				"     led to by a registration in epoll fd %d whose number was closed\n",
				w->epfd);
	}
	if (!r->nwaits && r->state == LISTING_SUSPENDED && p->l->fds)
		fputs("     no epoll registration leads to it\n", p->to);
	if (r->lost_why)
		fprintf(p->to, "     %s\n", r->lost_why);
}

static void print_id(const struct sheet *p, const char *what, uint64_t id)
{
	if (id)
		fprintf(p->to, "     %s 0x%" PRIx64 "\n", what, id);
}

// Where they were created, and how old the oldest is.
static void print_birth(const struct sheet *p, const struct listing_group *g)
{
	const struct listing_row *r = g->first;
	uint64_t oldest = 0;
	char at[160] = "", age[32], function[96];
	for (size_t i = 0; i < g->n; i++)
		oldest = g->first[i].age_ns > oldest ? g->first[i].age_ns : oldest;
	if (!oldest)
		return;
	text_duration(age, sizeof(age), oldest);
	if (r->created_at) {
		frames_name(r->created_at, function, sizeof(function));
		text_clean(function);
		place(p, r->created_at, at, sizeof(at));
		fprintf(p->to, "     created in %s%s%s%s", function, *at ? "  " : "", at,
			listing_one_creator(g) ? "" : " and elsewhere");
	} else {
		fputs("     created", p->to);
	}
	fprintf(p->to, g->n > 1 ? ", the oldest %s ago\n" : ", %s ago\n", age);
}

static int print_group(const struct sheet *p, const struct listing_group *g)
{
	const struct listing_row *r = g->first;
	bool one_line = p->w->all && !p->w->whole;
	struct frames f = {0};
	int e = r->stack ? listing_frames(p->l, r->stack, &f) : 0;
	print_head(p, g);
	if (one_line)
		print_way(p, &f);
	fprintf(p->to, "  found by %s%s%s\n", r->source, r->how ? ": " : "", r->how ? r->how : "");
	if (p->w->why)
		print_why(p, r);
	if (p->w->why && g->n > 1)
		fprintf(p->to, "     (of the first coroutine; --all shows each)\n");
	if (!one_line && r->stack)
		print_stack(p, &f, r->guessed);
	if (!one_line)
		print_birth(p, g);
	if (p->w->why && g->n == 1) {
		print_id(p, "awaits", r->awaits);
		print_id(p, "awaited by", r->awaited_by);
	}
	frames_deinit(&f);
	return e;
}

// -------------------------------------------------------------------------- sheet

static void print_top(const struct sheet *p)
{
	char command[160], path[256];
	if (p->l->core) {
		snprintf(path, sizeof(path), "%s", p->l->core);
		text_clean(path);
		fprintf(p->to, "%spid %d%s  (core file %s, not traced: found by search)\n", paint(p, BOLD),
			(int)p->l->pid, paint(p, PLAIN), path);
		return;
	}
	find_command(p->l->pid, command, sizeof(command));
	fprintf(p->to, "%spid %d%s  %s  (%s: found by search)\n", paint(p, BOLD), (int)p->l->pid,
		paint(p, PLAIN), command, p->l->traced ? "traced" : "not traced");
}

static void print_threads(const struct sheet *p)
{
	size_t own = 0;
	for (size_t i = 0; i < p->l->nthreads; i++) {
		const struct listing_thread *t = &p->l->threads[i];
		if (t->running || own++ >= THREADS_SHOWN)
			continue;
		fprintf(p->to, " thread %d", t->tid);
		if (*t->call)
			fprintf(p->to, !strncmp(t->call, "on ", 3) ? " [%s]" : " [in %s]", t->call);
		fputc('\n', p->to);
	}
	if (own > THREADS_SHOWN)
		fprintf(p->to, " and %zu more threads\n", own - THREADS_SHOWN);
}

static void print_undecided(const struct sheet *p)
{
	const struct listing *l = p->l;
	fprintf(p->to, "not decided which of %zu coroutines are lost: %s\n", l->all, l->undecided);
	if (l->stop_ns)
		fprintf(p->to,
			"to decide it: ctp-ps --lost --stop %d; it holds the threads once, for about %.2f s, and may end a "
			"wait of theirs by EINTR\n",
			(int)l->pid, (double)l->stop_ns / 1e9);
}

// Of what nothing leads to: how many, and what that is worth.
static void print_lost(const struct sheet *p)
{
	const struct listing *l = p->l;
	if (l->undecided) {
		print_undecided(p);
		return;
	}
	if (!l->all) {
		fputs("no coroutine was found; if the program has some, ctp-ps does not recognise how it switches to "
		      "them\n",
		      p->to);
		return;
	}
	fprintf(p->to,
		"%zu of %zu coroutines: nothing in the process's memory, and nothing that the kernel shows, references %s\n",
		l->n, l->all, l->n == 1 ? "it" : "them");
	if (l->n)
		fputs("likely lost, or discarded on purpose; never proven: a pointer may be disguised, or outside of the "
		      "process\n",
		      p->to);
}

// Of the C++20 coroutines among them.
static void print_stackless(const struct sheet *p)
{
	const struct listing *l = p->l;
	size_t n = 0, await = 0;
	for (size_t i = 0; i < l->n; i++) {
		n += l->v[i].stackless;
		await += l->v[i].awaits != 0;
	}
	if (n)
		fprintf(p->to,
			"C++20 coroutines: %zu; %zu never started, %zu at their end, %zu shown in the stack of the one that they await, "
			"%zu may have ended\n",
			n, l->counts[LISTING_INITIAL], l->counts[LISTING_FINAL], await,
			l->counts[LISTING_MAY_HAVE_ENDED]);
	if (l->inside)
		fprintf(p->to,
			"left out: %zu that look like C++20 coroutines inside other blocks: remnants, or of an allocator of its own\n",
			l->inside);
}

static void print_counts(const struct sheet *p)
{
	const struct listing *l = p->l;
	size_t suspended = l->counts[LISTING_SUSPENDED] + l->counts[LISTING_POOLED];
	fprintf(p->to, "%zu coroutines: %zu suspended", l->n, suspended);
	if (l->counts[LISTING_POOLED])
		fprintf(p->to, " (%zu idle in their engine)", l->counts[LISTING_POOLED]);
	fprintf(p->to,
		", %zu created, %zu running; found by search: it is not known since when they wait, nor who made them\n",
		l->counts[LISTING_CREATED], l->counts[LISTING_RUNNING]);
	print_stackless(p);
	if (l->finished)
		fprintf(p->to, "left out: %zu that have returned\n", l->finished);
	if (l->freed)
		fprintf(p->to, "left out: %zu in memory that was freed\n", l->freed);
	if (l->unsettled)
		fprintf(p->to, "left out: %zu that were switched each time they were read\n", l->unsettled);
	if (l->on_cpu)
		fprintf(p->to, "%zu threads are on a CPU: what they run is not seen without stopping them\n",
			l->on_cpu);
	if (*l->partial)
		fprintf(p->to, "not all of it was searched: %s\n", l->partial);
}

// One that awaits another stands in that one's stack.
static bool stands_elsewhere(const struct sheet *p, const struct listing_row *r)
{
	return r->awaits && !p->w->all && !p->w->nids;
}

// Below those that await them; of each only where it is itself, as its stack stands above it.
static int print_tree(const struct sheet *p)
{
	struct listing_tree_line *v;
	int e = listing_tree(p->l, &v);
	if (e)
		return e;
	for (size_t i = 0; !e && i < p->l->ngroups; i++) {
		const struct listing_row *r = v[i].group->first;
		struct frames f = {0};
		char at[160] = "";
		if (!listing_wanted(p->w, r->id))
			continue;
		fprintf(p->to, "%*s", 4 * (int)v[i].depth, "");
		fputs(v[i].depth ? "awaits" : "", p->to);
		print_head(p, v[i].group);
		e = r->stack ? listing_frames(p->l, r->stack, &f) : 0;
		if (f.n && r->stackless)
			place(p, f.items[0], at, sizeof(at));
		fprintf(p->to, *at ? "  at %s\n" : "\n", at);
		if (!e && f.n && (p->w->whole || !r->stackless))
			print_stack(p, &f, r->guessed);
		frames_deinit(&f);
	}
	free(v);
	return e;
}

static int print_groups(const struct sheet *p)
{
	int e = 0;
	if (p->w->tree)
		return print_tree(p);
	for (size_t i = 0; !e && i < p->l->ngroups; i++) {
		const struct listing_row *first = p->l->groups[i].first;
		if (listing_wanted(p->w, first->id) && !stands_elsewhere(p, first))
			e = print_group(p, &p->l->groups[i]);
	}
	return e;
}

int listing_text_groups(FILE *to, const struct listing *l, const struct listing_wants *w, bool color)
{
	const struct sheet p = {to, l, w, color};
	int e = print_groups(&p);
	if (!w->nids)
		print_stackless(&p);
	return e;
}

int listing_text(FILE *to, const struct listing *l, const struct listing_wants *w, bool color)
{
	const struct sheet p = {to, l, w, color};
	const char *changed;
	print_top(&p);
	int e = print_groups(&p);
	for (size_t i = 0; (changed = symbols_mismatch(l->symbols, i)); i++)
		fprintf(to, "no names from %s: it is another build than the one that runs\n", changed);
	if (w->nids)
		return e;
	if (l->only_lost) {
		print_lost(&p);
		return e;
	}
	print_threads(&p);
	print_counts(&p);
	return e;
}
