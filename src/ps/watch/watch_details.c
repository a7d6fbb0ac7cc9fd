// SPDX-License-Identifier: MIT
//
// One coroutine: its numbers, what it waits for, its stack as it is in memory now, its last
// events, and what ctp-run has found out about it.
#include "ps/watch/watch_details.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "ctp/words.h"
#include "ps/watch/watch_frames.h"

static void title(struct watch_page *p, const char *text)
{
	watch_page_line(p);
	watch_page_line(p);
	watch_page_put(p, WATCH_BOLD, "%s", text);
}

static void put_frame(struct watch_page *p, const struct symbols_frame *f, bool whole)
{
	char function[256];
	frames_name(f, function, sizeof(function));
	watch_page_put(p, WATCH_PLAIN, "%s", function);
	if (f->file)
		watch_page_put(p, WATCH_FAINT, "  %s:%d", whole ? frames_path(f) : file_base(f->file),
			       f->line);
	else if (f->symbol && f->module)
		watch_page_put(p, WATCH_FAINT, "  %s", file_base(f->module));
}

static void put_other(struct watch_page *p, const struct watch_subject *s, uint64_t id)
{
	uint32_t tid = watch_threads_native(s->threads, id);
	const struct watch_row *r = tid || !id ? NULL : watch_model_find(s->model, id);
	if (tid)
		watch_page_put(p, WATCH_PLAIN, "thread %" PRIu32 "'s own stack", tid);
	else if (r)
		watch_page_put(p, WATCH_PLAIN, "%" PRIu64 " %s", id, watch_names_label(s->names, r));
	else if (id)
		watch_page_put(p, WATCH_PLAIN, "%" PRIu64, id);
	else
		watch_page_put(p, WATCH_PLAIN, "an unknown one");
}

static void numbers(struct watch_page *p, const struct watch_subject *s)
{
	const struct watch_row *r = s->row;
	char rate[16], slice[32], age[32], called[CTP_NAME_TEXT];
	text_duration(age, sizeof(age), watch_model_age(s->model, r));
	watch_page_line(p);
	watch_page_put(p, WATCH_BOLD, "coroutine %" PRIu64 " %s", r->c.id, watch_names_label(s->names, r));
	if (*watch_model_name(s->model, r, called))
		watch_page_put(p, WATCH_BOLD, " \"%s\"", called);
	watch_page_put(p, r->closed ? WATCH_ALARM : WATCH_PLAIN, "  %s for %s", watch_names_state(r), age);
	const struct symbols_frame *at = report_created_at(s->report, &r->c);
	watch_page_line(p);
	watch_page_put(p, WATCH_PLAIN, "created ");
	if (at)
		put_frame(p, at, false);
	if (r->c.creator) {
		watch_page_put(p, WATCH_PLAIN, "  by ");
		put_other(p, s, r->c.creator);
	}
	watch_page_line(p);
	watch_view_number(rate, sizeof(rate), r->rate);
	watch_page_put(p, WATCH_PLAIN, "resumed %" PRIu64 " times, %s a second  CPU ", (r->c.changes + 1) / 2,
		       rate);
	if (r->cpu < 0)
		watch_page_put(p, WATCH_PLAIN, "-");
	else
		watch_page_put(p, WATCH_PLAIN, "%.1f%%", (double)r->cpu * 100);
	if (r->slice_ns) {
		text_duration(slice, sizeof(slice), r->slice_ns);
		watch_page_put(p, WATCH_PLAIN, "  longest slice seen %s", slice);
	}
}

static void stack_size(struct watch_page *p, const struct watch_subject *s)
{
	const struct coroutine *c = &s->row->c;
	if (c->lo >= c->hi)
		return;
	watch_page_line(p);
	if (c->flags & CTP_STATE_SHARED_STACK) {
		watch_page_put(p, WATCH_PLAIN, "its stack is copied away while others use it");
		return;
	}
	int64_t used = watch_use_bytes(s->use, c->lo, c->hi), size = (int64_t)(c->hi - c->lo);
	used = used < 0 ? s->row->stack_bytes : used; // as it was last, when the process has ended
	watch_page_put(p, WATCH_PLAIN, "stack 0x%" PRIx64 "-0x%" PRIx64 ", %" PRId64 " KiB", c->lo, c->hi,
		       size >> 10);
	if (used >= 0)
		watch_page_put(p, used > size / 10 * 9 ? WATCH_ALARM : WATCH_PLAIN,
			       ", of which %.1f KiB were ever used", (double)used / 1024);
}

// The innermost frame of the program's own on a recorded stack.
static void put_place(struct watch_page *p, const struct watch_subject *s, uint32_t id)
{
	uint32_t number = 0;
	struct frames f = {0};
	if (id && !stacks_recorded(s->report->stacks, id, &number) && number &&
	    !report_frames(s->report, number, &f)) {
		const struct symbols_frame *at = frames_first_own(&f);
		if (at) {
			watch_page_put(p, WATCH_PLAIN, ", at ");
			put_frame(p, at, false);
		}
	}
	frames_deinit(&f);
}

// Where, and by whom: short, for a line.
static void put_closer(struct watch_page *p, const struct watch_subject *s, const struct watch_ended *c)
{
	uint32_t tid = watch_threads_native(s->threads, c->closer);
	put_place(p, s, c->stack);
	if (!c->closer)
		return;
	watch_page_put(p, WATCH_PLAIN, ", by ");
	if (tid)
		watch_page_put(p, WATCH_PLAIN, "thread %" PRIu32, tid);
	else
		put_other(p, s, c->closer);
}

static void waits(struct watch_page *p, const struct watch_subject *s, const struct ctp_state *now)
{
	struct fds *fds;
	if (!s->row->c.nwaits || fds_new(&fds, s->report->found))
		return;
	title(p, "waits for");
	for (unsigned i = 0; i < s->row->c.nwaits; i++) {
		const struct coroutine_wait *w = &s->row->c.waits[i];
		struct fds_one f;
		char events[96];
		fds_describe(fds, w->fd, w->gen, &f);
		words_events(w->events, events, sizeof(events));
		watch_page_line(p);
		watch_page_put(p, WATCH_PLAIN, "  fd %d#%" PRIu32 " %s", w->fd, w->gen, events);
		if (f.kind)
			watch_page_put(p, WATCH_PLAIN, "  %s %s", f.kind, f.name);
		else if (!f.open)
			watch_page_put(p, WATCH_ALARM, "  closed since");
		if (now->waits[i].how & CTP_WAIT_REGISTERED)
			watch_page_put(p, WATCH_FAINT, "  in epoll fd %d", now->waits[i].epfd);
	}
	fds_free(fds);
}

static int stack(struct watch_page *p, const struct watch_subject *s)
{
	uint32_t recorded = 0, number;
	struct frames f = {0};
	if (s->row->c.life != CTP_SUSPENDED) {
		title(p, s->row->c.life == CTP_RUNNING ? "it runs: no stack is saved" :
							 "it has not run yet: it has no stack");
		return 0;
	}
	int e = stacks_recorded(s->report->stacks, s->row->c.recorded, &recorded);
	number = recorded;
	if (!e)
		e = stacks_live(s->report->stacks, &(struct stacks_job){&s->row->c, &number}, 1);
	if (!e)
		e = report_frames(s->report, number, &f);
	title(p, e || !f.n          ? "stack: it could not be read" :
		 number != recorded ? "stack, read from memory" :
				      "stack");
	for (size_t i = 0; !e && i < f.n; i++) {
		watch_page_line(p);
		watch_page_put(p, WATCH_PLAIN, "  #%-2zu ", i);
		put_frame(p, f.items[i], true);
	}
	frames_deinit(&f);
	return e;
}

static void put_ago(struct watch_page *p, const struct watch_subject *s, uint64_t ns)
{
	char ago[32];
	text_duration(ago, sizeof(ago), s->model->now > ns ? s->model->now - ns : 0);
	watch_page_line(p);
	watch_page_put(p, WATCH_FAINT, "  %9s ago ", ago);
}

// Closes of what it waits for that came after `from` and not after `to`.
static void put_closes(struct watch_page *p, const struct watch_subject *s, uint64_t from, uint64_t to)
{
	for (unsigned i = 0; i < s->row->c.nwaits; i++) {
		const struct coroutine_wait *w = &s->row->c.waits[i];
		const struct watch_ended *c = watch_proofs_ended(s->proofs, w->fd, w->gen);
		if (!c || c->ns <= from || c->ns > to)
			continue;
		put_ago(p, s, c->ns);
		watch_page_put(p, WATCH_ALARM, "fd %d#%" PRIu32 " closed", w->fd, w->gen);
		put_closer(p, s, c);
	}
}

static void put_event(struct watch_page *p, const struct watch_subject *s, const struct watch_event *e)
{
	put_ago(p, s, e->ns);
	switch (e->kind) {
	case CTP_EV_SWITCH:
		watch_page_put(p, WATCH_PLAIN, "%s", e->went_on ? "resumed by " : "switched to ");
		put_other(p, s, e->other);
		if (e->went_on)
			watch_page_put(p, WATCH_PLAIN, ", on thread %" PRIu32, e->tid);
		else
			put_place(p, s, e->stack);
		break;
	case CTP_EV_FD_OPEN:
	case CTP_EV_FD_CLOSE:
		watch_page_put(p, WATCH_PLAIN, "%s fd %d#%" PRIu32,
			       e->kind == CTP_EV_FD_OPEN ? "opened" : "closed", e->fd, e->gen);
		put_place(p, s, e->stack);
		break;
	case CTP_EV_CREATE:
		watch_page_put(p, WATCH_PLAIN, "was created by ");
		if (e->other)
			put_other(p, s, e->other);
		else // a thread's own stack has no id before its first switch
			watch_page_put(p, WATCH_PLAIN, "thread %" PRIu32 "'s own stack", e->tid);
		break;
	case CTP_EV_READY:
		watch_page_put(p, WATCH_PLAIN, "an event on fd %d#%" PRIu32 " arrived for it", e->fd, e->gen);
		break;
	case CTP_EV_EXIT:
		watch_page_put(p, WATCH_PLAIN, "ended the program");
		break;
	case CTP_EV_SIGNAL:
		watch_page_put(p, WATCH_PLAIN, "took signal %d", e->fd);
		break;
	default: // it returned, or its stack was given back
		watch_page_put(p, WATCH_PLAIN, "ended");
	}
}

// Numbers of its changes that are missing between what the rings still hold.
static void put_gap(struct watch_page *p, uint64_t n)
{
	if (!n)
		return;
	watch_page_line(p);
	watch_page_put(p, WATCH_FAINT, "            ... %" PRIu64 " that the rings no longer hold", n);
}

static void last_events(struct watch_page *p, const struct watch_subject *s)
{
	uint64_t next = s->last_changes; // the number that the next older one must have
	uint64_t newer = UINT64_MAX;
	title(p, "last events, newest first");
	for (size_t i = 0; i < s->last.n; i++) {
		const struct watch_event *e = &s->last.v[i];
		put_closes(p, s, e->ns, newer);
		newer = e->ns;
		if (e->kind == CTP_EV_READY) {
			put_event(p, s, e);
			continue;
		}
		put_gap(p, e->n < next ? next - e->n : 0);
		put_event(p, s, e);
		next = e->kind == CTP_EV_SWITCH ? e->n - 1 : e->n;
	}
	if (!s->last.n)
		put_gap(p, next);
}

static void findings(struct watch_page *p, const struct watch_subject *s)
{
	const struct proofs_one *f =
		proofs_of(watch_proofs_found(s->proofs), s->row->c.id, s->row->c.changes);
	char line[WATCH_LINE_BYTES];
	if (!f || s->row->c.life != CTP_SUSPENDED)
		return;
	title(p, "findings");
	watch_page_line(p);
	watch_page_put(p, f->shown ? WATCH_ALARM : WATCH_NOTE, "  %s %s: %s", f->rule, f->what,
		       f->shown ? "proven so far" : "not proven");
	for (const char *at = f->lines; *at;) {
		size_t n = strcspn(at, "\n");
		watch_page_line(p);
		snprintf(line, sizeof(line), "%.*s", (int)n - 1, at + 1);
		enum watch_style style = *at == '+' ? WATCH_PLAIN : WATCH_NOTE;
		watch_page_put(p, style, "    %s ", *at == '+' ? "holds" : *at == '-' ? "not  " : "open ");
		watch_page_words(p, style, line, 15, s->columns);
		at += n + (at[n] == '\n');
	}
	watch_page_line(p);
	snprintf(line, sizeof(line),
		 "the verdict is ctp-analyze's, at the end; ctp-analyze --explain %s says what it means",
		 f->rule);
	watch_page_put(p, WATCH_FAINT, "  ");
	watch_page_words(p, WATCH_FAINT, line, 2, s->columns);
}

int watch_details(struct watch_page *text, struct watch_subject *s)
{
	struct ctp_state now = {0};
	char age[32];
	watch_page_clear(text);
	if (s->row->frame) {
		text_duration(age, sizeof(age), watch_model_age(s->model, s->row));
		watch_frames_details(text, s->report->unlisted, s->row, age);
		return 0;
	}
	uint64_t off = s->report->found->header.ext.states_off + (uint64_t)s->row->c.station * sizeof(now);
	int e = source_read_record(&s->report->found->region, off, &now, sizeof(now));
	e = e == SOURCE_UNSETTLED ? 0 : e;
	if (e || now.id != s->row->c.id)
		now = (struct ctp_state){0};
	numbers(text, s);
	stack_size(text, s);
	if (!e)
		e = stack(text, s);
	findings(text, s);
	waits(text, s, &now);
	if (!e && (s->id != s->row->c.id || s->last_changes != s->row->c.changes)) {
		e = watch_last_read(&s->last, s->report->found, s->row->c.id, s->row->c.changes);
		s->id = s->row->c.id;
		s->last_changes = s->row->c.changes;
	}
	if (s->id == s->row->c.id)
		last_events(text, s);
	return e;
}
