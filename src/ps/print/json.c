// SPDX-License-Identifier: MIT
//
// The list as JSON, version 2 (spec/ps.md). Keys may be added; none changes its meaning or
// goes. What is unknown is null. Long arrays are written element by element: memory does not
// grow with the number of coroutines.
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/json.h"
#include "ctp/words.h"
#include "ps/listing/listing.h"
#include "ps/print/json_common.h"
#include "ps/print/json_tree.h"
#include "symbols/frames_json.h"

static json_t *waits(const struct report *r, const struct coroutine *c)
{
	json_t *a = json_array();
	for (unsigned i = 0; i < c->nwaits; i++) {
		struct fds_one f;
		fds_describe(r->fds, c->waits[i].fd, c->waits[i].gen, &f);
		json_array_append_new(
			a,
			json_pack("{s:i, s:o, s:o, s:s?, s:o, s:o}", "fd", (int)c->waits[i].fd, "generation",
				  json_count(c->waits[i].gen), "events", json_count(c->waits[i].events),
				  "kind", f.kind, "name", json_text(*f.name ? f.name : NULL), "open",
				  f.open < 0 ? json_null() : json_boolean(f.open)));
	}
	return a;
}

static json_t *ago(const struct report *r, uint64_t ticks)
{
	return ticks ? json_count(tables_age_ns(&r->tables, ticks)) : json_null();
}

// An id, or null for a thread that has none.
static json_t *party(uint64_t id)
{
	uint64_t plain = id & ~(CTP_FD_SEVERAL | CTP_FD_UNNAMED);
	return plain && !(id & CTP_FD_UNNAMED) ? json_count(plain) : json_null();
}

static json_t *did(const struct report *r, uint64_t by, unsigned call, uint32_t stack, uint64_t ticks)
{
	return json_pack("{s:o, s:s?, s:o, s:o}", "by", party(by), "call", words_call(call), "at",
			 frames_json_one(report_own_frame(r, stack)), "ago_ns", ago(r, ticks));
}

static json_t *registered(const struct report *r, const struct ctp_fd *f)
{
	return json_pack("{s:i, s:o, s:o, s:o, s:o}", "epfd", (int)f->reg_epfd, "generation",
			 json_count(f->reg_epgen), "events", json_count(f->reg_events), "by",
			 party(f->reg_by), "ago_ns", ago(r, f->reg_time));
}

static json_t *why_one(const struct report *r, const struct why_fd *w)
{
	const struct ctp_fd *f = w->present ? w->row : NULL;
	bool ended = !f && w->row && w->row->closed_gen == w->gen;
	struct fds_one one;
	fds_describe(r->fds, w->fd, w->gen, &one);
	return json_pack(
		"{s:i, s:o, s:o, s:b, s:o, s:s?, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o}", "fd",
		(int)w->fd, "generation", json_count(w->gen), "events", json_count(w->events), "waits",
		w->waits, "open", one.open < 0 ? json_null() : json_boolean(one.open), "kind", one.kind,
		"name", json_text(*one.name ? one.name : NULL), "opened",
		f && f->opened_how ? did(r, f->opener, f->opened_how, f->opener_stack, f->opened) :
				     json_null(),
		"closed",
		ended ? did(r, w->row->closer, w->row->closed_how, w->row->closer_stack, w->row->closed) :
			json_null(),
		"registered", f && f->reg_epfd >= 0 ? registered(r, f) : json_null(), "polled", w->polled,
		"polled_by", w->tid ? json_count(w->tid) : json_null(), "last_event_ns",
		f ? ago(r, f->event_time) : json_null(), "read_by", f ? party(f->last_in) : json_null(),
		"written_by", f ? party(f->last_out) : json_null());
}

static json_t *why(const struct report *r, const struct coroutine *c)
{
	struct why_fd v[WHY_MOST];
	size_t n = why_of(r->why, &r->tables, c, v);
	json_t *a = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(a, why_one(r, &v[i]));
	return a;
}

static json_t *group(const struct report *r, const struct group *g)
{
	const struct coroutine *c = g->first;
	char label[128];
	bool guessed = stacks_get(r->stacks, g->stack).flags & CTP_STACK_GUESSED;
	return json_pack("{s:o, s:b, s:o, s:b, s:b, s:o, s:s, s:o, s:o, s:o}", "stack",
			 json_common_stack(r, c->life == CTP_SUSPENDED ? g->stack : 0), "stack_guessed",
			 guessed, "label", json_text(report_label(r, c, label, sizeof(label))), "ready",
			 c->status == STATUS_READY, "pooled", c->status == STATUS_POOLED, "count",
			 json_count(g->n), "state", report_state(c), "entry",
			 frames_json_one(report_entry(r, c)), "suspended_ns",
			 c->life == CTP_SUSPENDED ? json_count(c->since_ns) : json_null(), "created_at",
			 frames_json_one(g->one_creator ? report_created_at(r, c) : NULL));
}

static json_t *threads(const struct report *r)
{
	json_t *a = json_array();
	for (size_t i = 0; i < r->tables.nthreads; i++) {
		const struct tables_thread *t = &r->tables.threads[i];
		bool own = !t->current || t->current == t->native;
		const struct threads_one *one = &r->threads.v[i];
		char state[2] = {one->state, 0};
		json_array_append_new(
			a, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "tid", json_count(t->tid),
				     "running", own ? json_null() : json_count(t->current), "switches",
				     json_count(t->switches), "os_tid",
				     one->tid ? json_integer(one->tid) : json_null(), "state",
				     json_text(one->state ? state : NULL), "call",
				     json_text(*one->call ? one->call : NULL), "wchan",
				     json_text(*one->wchan ? one->wchan : NULL), "stack",
				     one->stack ? json_common_stack(r, one->stack) : json_null()));
	}
	return a;
}

static void count_unlisted(const struct listing *l, json_t *counts)
{
	size_t stackless = 0;
	for (size_t i = 0; i < l->n; i++)
		stackless += l->v[i].stackless;
	json_object_set_new(counts, "stackless", json_count(stackless));
	if (l->n > stackless)
		json_object_set_new(counts, "searched", json_count(l->n - stackless));
}

static json_t *head(const struct report *r)
{
	const struct tables *t = &r->tables;
	char command[FIND_COMMAND];
	find_command_of(r->found, command, sizeof(command));
	json_t *counts = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "ready", json_count(t->ready),
				   "pooled", json_count(t->pooled), "created", json_count(t->created),
				   "suspended", json_count(t->suspended), "running", json_count(t->running),
				   "finished", t->partial ? json_null() : json_count(t->finished),
				   "destroyed", t->partial ? json_null() : json_count(t->destroyed));
	if (r->unlisted)
		count_unlisted(r->unlisted, counts);
	return json_pack("{s:o, s:i, s:s, s:i, s:o, s:o, s:o, s:o}", "core", json_text(r->found->core_path),
			 "version", 2, "tool", "ctp-ps " CTP_TOOL_VERSION, "pid", (int)r->found->pid,
			 "ctp_run", r->found->engine ? json_integer(r->found->engine) : json_null(),
			 "command", json_text(command), "threads", threads(r), "counts", counts);
}

// Writes one value and gives it back; nothing else of it is needed.
static int put(FILE *to, json_t *j, size_t flags)
{
	int e = !j ? -ENOMEM : json_dumpf(j, to, flags) ? -EIO : 0;
	json_decref(j);
	return e;
}

static void put_number(FILE *to, bool known, uint64_t v)
{
	if (known)
		fprintf(to, "%" PRIu64, v);
	else
		fputs("null", to);
}

// One of a million. `alone`: with what its group would tell.
static int put_coroutine(FILE *to, const struct report *r, const struct coroutine *c, struct json_common *m,
			 bool alone, uint32_t stack)
{
	const struct tables_thread *t = c->life == CTP_RUNNING ? tables_thread(&r->tables, c->thread) : NULL;
	const struct json_common_one *common = json_common_get(m, r, c, stack);
	if (!common)
		return -ENOMEM;
	fprintf(to, "{\"id\": %" PRIu64 ", \"name\": ", c->id);
	int e = c->name ? put(to, json_text(c->name), JSON_ENCODE_ANY) : fputs("null", to) < 0 ? -EIO : 0;
	if (alone)
		fprintf(to, ", \"label\": %s", common->label);
	fprintf(to, ", \"state\": \"%s\", \"entry\": %s, ", report_state(c), common->entry);
	fprintf(to,
		"\"ready\": %s, \"pooled\": %s, \"creator\": ", c->status == STATUS_READY ? "true" : "false",
		c->status == STATUS_POOLED ? "true" : "false");
	put_number(to, c->creator, c->creator);
	fputs(", \"suspended_ns\": ", to);
	put_number(to, c->life == CTP_SUSPENDED, c->since_ns);
	fprintf(to, ", \"switches\": %" PRIu64 ", \"thread\": ", c->changes);
	bool probe = r->found->probes && c->life == CTP_RUNNING;
	put_number(to, t || probe, t ? t->tid : c->thread);
	fputs(", \"waits\": ", to);
	if (!e)
		e = c->nwaits ? put(to, waits(r, c), 0) : fputs("[]", to) < 0 ? -EIO : 0;
	if (c->so_far)
		fprintf(to, ", \"finding\": {\"rule\": \"%s\", \"so_far\": \"%s\"}", c->rule,
			c->so_far == SO_FAR_PROVEN ? "proven" : "likely");
	if (!e && r->why && fputs(", \"why\": ", to) >= 0)
		e = put(to, why(r, c), 0);
	if (alone)
		fprintf(to, ", \"stack\": %s, \"stack_guessed\": %s", common->stack,
			stacks_get(r->stacks, stack).flags & CTP_STACK_GUESSED ? "true" : "false");
	fprintf(to,
		", \"created_at\": %s, \"source\": \"%s\", \"kind\": \"stackful\", \"evidence\": [\"%s\"]}",
		common->created_at, c->before ? "search" : "table",
		r->found->probes ? "its station, as a version-1 probe wrote it" :
		c->before        ? "found in memory when ctp-run attached, and not run since" :
				   "its row in libctp's table");
	return e;
}

static int put_group(FILE *to, const struct report *r, const struct group *g, struct json_common *m)
{
	fputc('{', to);
	int e = put(to, group(r, g), JSON_EMBED);
	for (size_t i = 0; !e && i < g->n; i++) {
		fputs(i ? ",\n " : ", \"coroutines\": [\n ", to);
		e = put_coroutine(to, r, &g->first[i], m, false, 0);
	}
	fputs("]}", to);
	return e;
}

static int put_ended(FILE *to, const struct report *r, struct json_common *m)
{
	int e = 0;
	fputs(",\n\"ended\": [", to);
	for (size_t i = 0; !e && i < r->tables.nended; i++) {
		fputs(i ? ",\n" : "\n", to);
		e = put_coroutine(to, r, &r->tables.ended[i], m, false, 0);
	}
	fputs("]", to);
	return e;
}

static int put_list(FILE *to, const struct report *r)
{
	bool apart = r->wants->all || r->wants->nids;
	struct json_common m = {0};
	int e = 0;
	fprintf(to, "\"%s\": [", apart ? "coroutines" : "groups");
	for (size_t i = 0; !e && i < r->groups.n; i++) {
		const struct group *g = &r->groups.v[i];
		fputs(i ? ",\n" : "\n", to);
		e = apart ? put_coroutine(to, r, g->first, &m, true,
					  g->first->life == CTP_SUSPENDED ? g->stack : 0) :
			    put_group(to, r, g, &m);
	}
	const struct report_wants *w = r->wants;
	const struct listing_wants wants = {w->all, w->whole, w->tree, w->why, w->ids, w->nids};
	bool any = r->groups.n;
	if (!e && r->unlisted)
		e = listing_json_groups(to, r->unlisted, &wants, &any);
	fputs("\n]", to);
	if (!e && r->wants->all)
		e = put_ended(to, r, &m);
	json_common_deinit(&m);
	return e;
}

int json_write(FILE *to, const struct report *r)
{
	fputc('{', to);
	int e = put(to, head(r), JSON_EMBED);
	fputs(",\n", to);
	if (!e)
		e = r->wants->tree ? json_tree_write(to, r) : put_list(to, r);
	fputs("}\n", to);
	return e;
}
