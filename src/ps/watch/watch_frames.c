// SPDX-License-Identifier: MIT
//
// Nobody records when a coroutine came to stand where it stands: it was seen there at each inspection since
// one. Where a traced program maps no code of C++20 coroutines, nothing is read until it maps more.
#include "ps/watch/watch_frames.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/living.h"
#include "base/search.h"
#include "ctp/words.h"
#include "ps/listing/fd_names.h"
#include "search/mark/scan.h"

#define OF_A_FRAME (1U << 31) // numbers of the listing's stacks, apart from those of the region's

void watch_frames_close(struct watch_frames *f)
{
	stackless_forget(&f->listing, &f->kept);
	free(f->seen);
	*f = (struct watch_frames){.nseen = 0};
}

// ---------------------------------------------------------------------- since

static uint64_t place_of(const struct listing_row *r)
{
	uint64_t at = r->stackless                ? r->suspended_at :
		      r->state == LISTING_RUNNING ? (uint64_t)r->tid :
						    r->regs[CTP_REG_SP] << 8 ^ r->regs[CTP_REG_PC];
	return at ^ (uint64_t)r->state << 56;
}

static uint64_t since_of(const struct watch_frames *f, const struct listing_row *r, uint64_t now)
{
	size_t i = FIRST_NOT(f->nseen, k, f->seen[k].id < r->id);
	bool same = i < f->nseen && f->seen[i].id == r->id && f->seen[i].at == place_of(r);
	return same ? f->seen[i].since : now;
}

static int by_id(const void *a, const void *b)
{
	const struct watch_frame_seen *x = a, *y = b;
	return (x->id > y->id) - (x->id < y->id);
}

static int remember(struct watch_frames *f, uint64_t now)
{
	size_t n = f->listing.n;
	struct watch_frame_seen *v = calloc(n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct listing_row *r = &f->listing.v[i];
		v[i] = (struct watch_frame_seen){r->id, place_of(r), since_of(f, r, now)};
	}
	qsort(v, n, sizeof(*v), by_id);
	free(f->seen);
	f->seen = v;
	f->nseen = n;
	return 0;
}

// ----------------------------------------------------------------------- rows

static uint8_t life_of(enum listing_state s)
{
	return s == LISTING_INITIAL || s == LISTING_CREATED    ? CTP_CREATED :
	       s == LISTING_RUNNING || s == LISTING_DESTROYING ? CTP_RUNNING :
								 CTP_SUSPENDED;
}

static int add(const struct watch_frames *f, struct watch_model *m, const struct listing_row *r)
{
	uint8_t closed = 0;
	struct watch_row w = {.c = {.id = r->id,
				    .entry = r->entry,
				    .station = UINT32_MAX,
				    .recorded = r->stack ? r->stack | OF_A_FRAME : 0,
				    .life = life_of(r->state),
				    .status = r->state == LISTING_POOLED ? STATUS_POOLED : STATUS_WAITS,
				    .settled = true},
			      .since = since_of(f, r, m->begun),
			      .rate = -1,
			      .cpu = -1,
			      .stack_bytes = -1,
			      .there = true,
			      .frame_state = (uint8_t)(r->state + 1),
			      .frame = r};
	w.stack = w.c.recorded;
	for (unsigned i = 0; i < r->nwaits; i++) {
		closed += r->waits[i].fd < 0;
		if (r->waits[i].fd >= 0 && w.c.nwaits < CTP_WAITS)
			w.c.waits[w.c.nwaits++] =
				(struct coroutine_wait){r->waits[i].fd, WATCH_NO_GEN, r->waits[i].events, 0};
	}
	w.closed = closed && !w.c.nwaits;
	return watch_model_add(m, &w);
}

int watch_frames_add(struct watch_frames *f, struct watch_model *m)
{
	int e = remember(f, m->begun);
	for (size_t i = 0; !e && i < f->listing.n; i++)
		e = add(f, m, &f->listing.v[i]);
	return e;
}

// Memory in which none of them lies: libctp's own, and frames of which the program itself tells.
static struct span *others(const struct watch_model *m, const struct ctp_ext *x, size_t *n)
{
	struct span *v = calloc(m->n + 3, sizeof(*v));
	if (!v)
		return NULL;
	v[0] = (struct span){x->region_base, x->region_base + x->region_bytes};
	v[1] = (struct span){x->areas_base, x->areas_base + x->areas_bytes};
	v[2] = (struct span){x->self_base, x->self_end};
	*n = 3;
	for (size_t i = 0; i < m->n; i++)
		if (m->rows[i].there && m->rows[i].c.announced)
			v[(*n)++] = (struct span){m->rows[i].c.lo, m->rows[i].c.hi};
	*n = spans_tidy(v, *n);
	return v;
}

int watch_frames_look(struct watch_frames *f, struct watch_model *m, const struct found *found,
		      uint32_t modules, bool *anew)
{
	size_t n;
	*anew = false;
	if (f->kept.read && !f->kept.pairs.n && f->modules == modules)
		return 0;
	struct span *skip = others(m, &found->header.ext, &n);
	if (!skip)
		return -ENOMEM;
	int e = stackless_again(&f->listing, &f->kept, found->pid, skip, n, anew);
	free(skip);
	f->modules = modules;
	if (e)
		return e == -ENOMEM ? e : 0;
	return watch_frames_add(f, m);
}

// One that has ended has no memory left, and what was found of it meanwhile is not all.
static bool has_ended(pid_t pid)
{
	char path[40];
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)living_of(pid));
	FILE *maps = fopen(path, "re");
	bool none = !maps || fgetc(maps) == EOF;
	if (maps)
		fclose(maps);
	return none;
}

int watch_frames_search(struct watch_frames *f, pid_t pid, bool *anew)
{
	struct listing *l = &f->listing;
	struct listing_row *before = l->v;
	size_t n = l->n, capacity = l->capacity;
	*anew = false;
	l->v = NULL;
	l->n = l->capacity = 0;
	int e = search_again(l, &f->kept, pid, anew);
	e = !e && has_ended(pid) ? -ESRCH : e;
	if (!e || *anew) {
		free(before);
		return e;
	}
	free(l->v);
	l->v = before;
	l->n = n;
	l->capacity = capacity;
	return e;
}

// -------------------------------------------------------------------- details

static void title(struct watch_page *p, const char *text)
{
	watch_page_line(p);
	watch_page_line(p);
	watch_page_put(p, WATCH_BOLD, "%s", text);
}

static void put_stack(struct watch_page *p, const struct listing *l, const struct watch_row *r)
{
	struct frames f = {0};
	char function[256];
	if (r->frame->stack)
		title(p, r->frame->stackless ? "stack of its awaits" : "stack");
	if (!r->frame->stack || listing_frames(l, r->frame->stack, &f))
		f.n = 0;
	for (size_t i = 0; i < f.n; i++) {
		watch_page_line(p);
		watch_page_put(p, WATCH_PLAIN, "  #%-2zu %s", i,
			       frames_name(f.items[i], function, sizeof(function)));
		if (f.items[i]->file)
			watch_page_put(p, WATCH_FAINT, "  %s:%d", frames_path(f.items[i]), f.items[i]->line);
	}
	frames_deinit(&f);
}

static void put_waits(struct watch_page *p, const struct listing *l, const struct watch_row *r)
{
	char name[160], events[96];
	const char *kind;
	if (r->frame->nwaits)
		title(p, "waits for");
	for (unsigned i = 0; i < r->frame->nwaits; i++) {
		const struct listing_wait *w = &r->frame->waits[i];
		watch_page_line(p);
		if (w->fd < 0) {
			watch_page_put(p, WATCH_ALARM,
				       "  a descriptor whose number was closed, in epoll fd %d", w->epfd);
			continue;
		}
		words_events(w->events, events, sizeof(events));
		listing_fds_describe(l->fds, w->fd, &kind, name, sizeof(name));
		watch_page_put(p, WATCH_PLAIN, "  fd %d %s  %s %s", w->fd, events, kind ? kind : "", name);
		watch_page_put(p, WATCH_FAINT, "  in epoll fd %d", w->epfd);
	}
}

static void put_other(struct watch_page *p, const char *what, uint64_t id)
{
	if (!id)
		return;
	watch_page_line(p);
	watch_page_put(p, WATCH_PLAIN, "  %s 0x%" PRIx64, what, id);
}

void watch_frames_details(struct watch_page *text, const struct listing *l, const struct watch_row *r,
			  const char *age)
{
	char label[192];
	watch_page_line(text);
	watch_page_put(text, WATCH_BOLD, "coroutine 0x%" PRIx64 " %s", r->c.id,
		       listing_label(l, r->frame, label, sizeof(label)));
	watch_page_put(text, r->closed ? WATCH_ALARM : WATCH_PLAIN, "  %s for at least %s",
		       r->closed ? "closed" : listing_state_word(r->frame), age);
	watch_page_line(text);
	watch_page_put(text, WATCH_FAINT, "%s (%s): nothing records what it did before",
		       r->frame->stackless ? "a C++20 coroutine" : "found by search",
		       r->frame->stackless ? "read from memory" : r->frame->how);
	put_stack(text, l, r);
	put_waits(text, l, r);
	if (r->frame->awaits || r->frame->awaited_by)
		title(text, "others");
	put_other(text, "awaits", r->frame->awaits);
	put_other(text, "awaited by", r->frame->awaited_by);
	title(text, "evidence");
	for (size_t i = 0; r->frame->evidence[i]; i++) {
		watch_page_line(text);
		watch_page_put(text, WATCH_PLAIN, "  %s", r->frame->evidence[i]);
	}
}
