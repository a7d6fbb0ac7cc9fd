// SPDX-License-Identifier: MIT
//
// What keeps a coroutine, for people: each descriptor with who opened it and where, who
// registered it, and when it last had an event.
#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "ctp/words.h"
#include "ps/print/text.h"

enum { SHOWN = 3 }; // of a group

static void print_ago(const struct page *p, uint64_t ticks)
{
	char ns[32];
	text_duration(ns, sizeof(ns), tables_age_ns(&p->r->tables, ticks));
	fprintf(p->to, ", %s ago", ns);
}

// "call at server.c:77, 5m12s ago", and the line itself.
static void print_where(const struct page *p, unsigned call, uint32_t stack, uint64_t ticks)
{
	const struct symbols_frame *at = report_own_frame(p->r, stack);
	const char *name = words_call(call);
	char where[192], *line = at ? symbols_source_line(p->r->symbols, at) : NULL;
	text_frames_site(p, at, where, sizeof(where));
	if (name)
		fprintf(p->to, ", %s", name);
	if (*where)
		fprintf(p->to, " at %s", where);
	if (ticks)
		print_ago(p, ticks);
	if (line) {
		find_clean(line);
		fprintf(p->to, "    %s%s%s", text_paint(p, TEXT_DIM), line, text_paint(p, TEXT_PLAIN));
	}
	free(line);
	fputc('\n', p->to);
}

static void print_party(const struct page *p, const char *what, uint64_t id, const struct coroutine *self)
{
	char who[160];
	fprintf(p->to, "       %-10s  by %s", what, report_who(p->r, id, self, who, sizeof(who)));
}

static void print_opened(const struct page *p, const struct ctp_fd *f, const struct coroutine *c)
{
	if (f->opened_how == CTP_CALL_NONE) {
		fputs("       opened      not seen: before ctp watched, or by a call that it does not watch\n",
		      p->to);
		return;
	}
	print_party(p, "opened", f->opener, c);
	print_where(p, f->opened_how, f->opener_stack, f->opened);
}

static void print_registered(const struct page *p, const struct why_fd *w, const struct coroutine *c)
{
	const struct ctp_fd *f = w->row;
	char events[96];
	if (w->polled && w->tid) {
		fprintf(p->to, "       polled      by thread %" PRIu32 ", which waits for it now\n", w->tid);
		return;
	}
	if (w->polled) {
		fputs("       polled      by a loop that is not in its wait now\n", p->to);
		return;
	}
	if (f->reg_epfd < 0) {
		fputs("       registered  in no epoll set that is known\n", p->to);
		return;
	}
	words_events(f->reg_events, events, sizeof(events));
	print_party(p, "registered", f->reg_by, c);
	fprintf(p->to, " in epoll fd %d#%" PRIu32 " for %s", f->reg_epfd, f->reg_epgen, events);
	print_ago(p, f->reg_time);
	fprintf(p->to, "%s\n", f->flags & CTP_FD_MANYREGS ? "; and in another set" : "");
}

static void print_use(const struct page *p, const struct ctp_fd *f, const struct coroutine *c)
{
	char ns[32], who[160];
	text_duration(ns, sizeof(ns), tables_age_ns(&p->r->tables, f->event_time));
	if (f->event_time)
		fprintf(p->to, "       last event  %s ago%s\n", ns,
			f->event_time > c->since && c->life == CTP_SUSPENDED ? ", since it was suspended" :
									       "");
	else
		fputs("       last event  none yet\n", p->to);
	if (f->last_in)
		fprintf(p->to, "       read        by %s\n",
			report_who(p->r, f->last_in, c, who, sizeof(who)));
	if (f->last_out)
		fprintf(p->to, "       written     by %s\n",
			report_who(p->r, f->last_out, c, who, sizeof(who)));
}

static void print_closed(const struct page *p, const struct why_fd *w, const struct coroutine *c)
{
	if (!w->row || w->row->closed_gen != w->gen) {
		fputs("       closed      when is not known any more\n", p->to);
		return;
	}
	print_party(p, "closed", w->row->closer, c);
	print_where(p, w->row->closed_how, w->row->closer_stack, w->row->closed);
}

static void print_fd(const struct page *p, const struct why_fd *w, const struct coroutine *c)
{
	char events[96];
	struct fds_one one;
	words_events(w->events, events, sizeof(events));
	fds_describe(p->r->fds, w->fd, w->gen, &one);
	fprintf(p->to, "     %s fd %d#%" PRIu32 " %s", w->waits ? "waits for" : "led to by", w->fd, w->gen,
		events);
	text_head_fd(p, &one);
	fputc('\n', p->to);
	if (w->present) {
		print_opened(p, w->row, c);
		print_registered(p, w, c);
		print_use(p, w->row, c);
	} else {
		print_closed(p, w, c);
	}
}

static void print_nothing(const struct page *p, const struct coroutine *c)
{
	char who[160];
	report_who(p->r, c->creator, c, who, sizeof(who));
	if (c->life == CTP_CREATED)
		fprintf(p->to, "     made by %s, and never entered\n", who);
	else if (c->status == STATUS_POOLED)
		fputs("     in its library's pool: nothing keeps it but that\n", p->to);
	else if (c->life == CTP_SUSPENDED)
		fputs("     no descriptor is known that keeps it: whoever has a pointer to it can resume it\n",
		      p->to);
}

int text_why(const struct page *p, const struct group *g)
{
	bool any = false;
	for (size_t i = 0; i < g->n && i < SHOWN; i++) {
		struct why_fd v[WHY_MOST];
		const struct coroutine *c = &g->first[i];
		size_t n = why_of(p->r->why, &p->r->tables, c, v);
		any |= n > 0;
		if (g->n > 1 && n)
			fprintf(p->to, "     coroutine %" PRIu64 "\n", c->id);
		for (size_t k = 0; k < n; k++)
			print_fd(p, &v[k], c);
		if (!n && i == 0)
			print_nothing(p, c);
	}
	if (any && g->n > SHOWN)
		fprintf(p->to, "     ... %zu more (--all shows each)\n", g->n - SHOWN);
	return 0;
}
