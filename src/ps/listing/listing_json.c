// SPDX-License-Identifier: MIT
//
// The listing as JSON, version 2 (spec/ps.md): the keys of a traced program's, with null for what
// only tables know. Written element by element: memory does not grow with the number of coroutines.
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "ps/listing/fd_names.h"
#include "ps/listing/listing.h"
#include "ps/read/find.h"
#include "symbols/frames_json.h"

static json_t *threads(const struct listing *l)
{
	json_t *a = json_array();
	for (size_t i = 0; i < l->nthreads; i++) {
		const struct listing_thread *t = &l->threads[i];
		char state[2] = {t->state, 0};
		json_array_append_new(
			a, json_pack("{s:i, s:o, s:n, s:i, s:o, s:o, s:n, s:n}", "tid", t->tid, "running",
				     t->running ? json_count(t->running) : json_null(), "switches", "os_tid",
				     t->tid, "state", json_text(t->state ? state : NULL), "call",
				     json_text(*t->call ? t->call : NULL), "wchan", "stack"));
	}
	return a;
}

static json_t *head(const struct listing *l)
{
	char command[FIND_COMMAND] = "";
	if (!l->core)
		find_command(l->pid, command, sizeof(command));
	json_t *counts =
		json_pack("{s:n, s:o, s:o, s:o, s:o, s:o, s:n, s:o, s:o, s:o}", "ready", "pooled",
			  json_count(l->counts[LISTING_POOLED]), "created",
			  json_count(l->counts[LISTING_CREATED] + l->counts[LISTING_INITIAL]), "suspended",
			  json_count(l->counts[LISTING_SUSPENDED] + l->counts[LISTING_POOLED]), "running",
			  json_count(l->counts[LISTING_RUNNING]), "finished", json_count(l->finished),
			  "destroyed", "stackless", json_count(listing_stackless(l)), "freed",
			  json_count(l->freed), "unsettled", json_count(l->unsettled));
	json_t *o = json_pack("{s:i, s:s, s:i, s:n, s:o, s:s, s:s, s:o, s:o, s:o}", "version", 2, "tool",
			      "ctp-ps " CTP_TOOL_VERSION, "pid", (int)l->pid, "ctp_run", "core",
			      json_text(l->core), "command", command, "source", "search", "partial",
			      json_text(*l->partial ? l->partial : NULL), "threads", threads(l), "counts",
			      counts);
	if (l->only_lost) {
		json_object_set_new(o, "all", json_count(l->all));
		json_object_set_new(o, "decided", json_boolean(!l->undecided));
		json_object_set_new(o, "undecided", json_text(l->undecided));
	}
	return o;
}

static json_t *waits(const struct listing *l, const struct listing_row *r)
{
	json_t *a = json_array();
	for (unsigned i = 0; i < r->nwaits; i++) {
		const struct listing_wait *w = &r->waits[i];
		const char *kind;
		char name[192];
		listing_fds_describe(l->fds, w->fd, &kind, name, sizeof(name));
		json_array_append_new(
			a, json_pack("{s:i, s:n, s:o, s:s?, s:o, s:b, s:i}", "fd", w->fd, "generation",
				     "events", json_count(w->events), "kind", kind, "name",
				     json_text(*name ? name : NULL), "open", w->fd >= 0, "epfd", w->epfd));
	}
	return a;
}

static json_t *one_id(uint64_t id)
{
	json_t *a = json_array();
	if (id)
		json_array_append_new(a, json_count(id));
	return a;
}

static json_t *stack(const struct listing *l, const struct listing_row *r)
{
	struct frames f;
	json_t *j = !r->stack || listing_frames(l, r->stack, &f) ? NULL : frames_json(&f);
	if (r->stack)
		frames_deinit(&f);
	return j ? j : json_null();
}

static json_t *label(const struct listing *l, const struct listing_row *r)
{
	char text[128];
	return json_text(listing_label(l, r, text, sizeof(text)));
}

static json_t *entry(const struct listing *l, const struct listing_row *r)
{
	return frames_json_one(r->entry ? frames_entry(l->symbols, r->entry) : NULL);
}

static json_t *evidence(const struct listing_row *r)
{
	json_t *a = json_array();
	for (size_t i = 0; r->evidence[i]; i++)
		json_array_append_new(a, json_text(r->evidence[i]));
	return a;
}

static json_t *registers(const struct listing_row *r)
{
	json_t *a = json_array();
	for (int i = 0; i < CTP_REGS; i++)
		json_array_append_new(a, json_hex(r->regs[i]));
	return a;
}

static json_t *coroutine(const struct listing *l, const struct listing_row *r, bool alone)
{
	json_t *o = json_pack("{s:o, s:n, s:s, s:o, s:n, s:b, s:o, s:n, s:n, s:o, s:o, s:o, s:s, s:s, s:o}",
			      "id", json_count(r->id), "name", "state", listing_state_word(r), "entry",
			      entry(l, r), "ready", "pooled", r->state == LISTING_POOLED, "creator",
			      r->creator ? json_count(r->creator) : json_null(), "suspended_ns", "switches",
			      "thread", r->tid ? json_integer(r->tid) : json_null(), "waits", waits(l, r),
			      "created_at", frames_json_one(r->created_at), "source", r->source, "kind",
			      r->stackless ? "stackless" : "stackful", "evidence", evidence(r));
	if (r->stackless) {
		json_object_set_new(o, "awaits", one_id(r->awaits));
		json_object_set_new(o, "awaited_by", one_id(r->awaited_by));
		json_object_set_new(
			o, "suspended_at",
			frames_json_one(r->suspended_at ? frames_entry(l->symbols, r->suspended_at) : NULL));
		json_object_set_new(o, "age_ns", r->age_ns ? json_count(r->age_ns) : json_null());
	}
	if (!r->stackless && alone)
		json_object_set_new(o, "registers", registers(r));
	if (r->lost)
		json_object_set_new(o, "lost", json_true());
	if (r->lost_why)
		json_object_set_new(o, "lost_why", json_text(r->lost_why));
	if (alone) {
		json_object_set_new(o, "label", label(l, r));
		json_object_set_new(o, "stack", stack(l, r));
		json_object_set_new(o, "stack_guessed", json_boolean(r->guessed));
	}
	return o;
}

static int put(FILE *to, json_t *j, size_t flags)
{
	int e = !j ? -ENOMEM : json_dumpf(j, to, flags) ? -EIO : 0;
	json_decref(j);
	return e;
}

// There may be a million stackless ones of which the same is said: what was written of the last one.
struct said {
	const struct listing_row *of;
	char *text, *middle, *awaits, *end; // the last three lie in the first
};

static bool alike(const struct listing_row *a, const struct listing_row *b)
{
	return a->stackless && b->stackless && !a->age_ns && !b->age_ns && !a->nwaits && !b->nwaits &&
	       a->state == b->state && a->entry == b->entry && a->suspended_at == b->suspended_at &&
	       a->evidence == b->evidence && a->source == b->source && a->tid == b->tid &&
	       a->lost == b->lost && a->lost_why == b->lost_why;
}

static void put_ids(FILE *to, uint64_t id)
{
	if (id)
		fprintf(to, "[%" PRIu64 "]", id);
	else
		fputs("[]", to);
}

static int put_coroutine(FILE *to, const struct listing *l, const struct listing_row *r, struct said *s)
{
	static const char middle[] = ", \"name\": ", awaits[] = "\"awaits\": ",
			  end[] = ", \"suspended_at\": ";
	if (!s->of || !alike(s->of, r)) {
		json_t *o = coroutine(l, r, false);
		free(s->text);
		*s = (struct said){.of = r, .text = o ? json_dumps(o, 0) : NULL};
		json_decref(o);
		if (!s->text)
			return -ENOMEM;
		s->middle = strstr(s->text, middle);
		s->awaits = r->stackless ? strstr(s->text, awaits) :
					   NULL; // a quote in a string has a backslash
		s->end = s->awaits ? strstr(s->awaits, end) : NULL;
		return fputs(s->text, to) < 0 ? -EIO : 0;
	}
	fprintf(to, "{\"id\": %" PRIu64, r->id);
	fwrite(s->middle, 1, (size_t)(s->awaits - s->middle), to);
	fputs(awaits, to);
	put_ids(to, r->awaits);
	fputs(", \"awaited_by\": ", to);
	put_ids(to, r->awaited_by);
	return fputs(s->end, to) < 0 ? -EIO : 0;
}

static int put_group(FILE *to, const struct listing *l, const struct listing_group *g)
{
	const struct listing_row *r = g->first;
	struct said said = {.of = NULL};
	json_t *o = json_pack("{s:o, s:b, s:o, s:n, s:b, s:o, s:s, s:o, s:n, s:o}", "stack", stack(l, r),
			      "stack_guessed", r->guessed, "label", label(l, r), "ready", "pooled",
			      r->state == LISTING_POOLED, "count", json_count(g->n), "state",
			      listing_state_word(r), "entry", entry(l, r), "suspended_ns", "created_at",
			      frames_json_one(listing_one_creator(g)));
	fputc('{', to);
	int e = put(to, o, JSON_EMBED);
	for (size_t i = 0; !e && i < g->n; i++) {
		fputs(i ? ",\n " : ", \"coroutines\": [\n ", to);
		e = put_coroutine(to, l, &g->first[i], &said);
	}
	free(said.text);
	fputs("]}", to);
	return e;
}

static json_t *node(const struct listing *l, const struct listing_group *g)
{
	const struct listing_row *r = g->first;
	json_t *all = json_array();
	for (size_t k = 0; k < g->n; k++)
		json_array_append_new(all, json_count(g->first[k].id));
	return json_pack("{s:o, s:o, s:o, s:s, s:n, s:b, s:o, s:o, s:n, s:b, s:[]}", "count",
			 json_count(g->n), "all", json_count(g->n), "ids", all, "state",
			 listing_state_word(r), "ready", "pooled", r->state == LISTING_POOLED, "label",
			 label(l, r), "entry", entry(l, r), "created_at", "cut", false, "children");
}

// Who created whom is not known: all of them below nobody.
int listing_json_root(FILE *to, const struct listing *l, const struct listing_wants *w)
{
	size_t n = 0;
	bool any = false;
	int e = 0;
	for (size_t i = 0; i < l->ngroups; i++)
		n += listing_wanted(w, l->groups[i].first->id) ? l->groups[i].n : 0;
	fprintf(to, "{\"root\": null, \"tid\": null, \"all\": %zu, \"cut\": false, \"children\": [", n);
	for (size_t i = 0; !e && i < l->ngroups; i++) {
		if (!listing_wanted(w, l->groups[i].first->id))
			continue;
		fputs(any ? ",\n" : "\n", to);
		any = true;
		e = put(to, node(l, &l->groups[i]), 0);
	}
	fputs("]}", to);
	return e;
}

int listing_json_edges(FILE *to, const struct listing *l, bool *any)
{
	int e = 0;
	for (size_t i = 0; !e && i < l->n; i++) {
		if (!l->v[i].awaits)
			continue;
		fputs(*any ? ",\n" : "\n", to);
		*any = true;
		e = put(to,
			json_pack("{s:o, s:o, s:s, s:n, s:n, s:n}", "from", json_count(l->v[i].id), "to",
				  json_count(l->v[i].awaits), "why", "await", "fd", "generation", "lock"),
			0);
	}
	return e;
}

static int put_tree(FILE *to, const struct listing *l, const struct listing_wants *w)
{
	bool any = false;
	fputs(",\n\"tree\": [", to);
	int e = listing_json_root(to, l, w);
	fputs("],\n\"waits_for\": [", to);
	if (!e)
		e = listing_json_edges(to, l, &any);
	fputs("],\n\"cycles\": []}\n", to);
	return e;
}

int listing_json_groups(FILE *to, const struct listing *l, const struct listing_wants *w, bool *any)
{
	bool apart = w->all || w->nids;
	int e = 0;
	for (size_t i = 0; !e && i < l->ngroups; i++) {
		const struct listing_group *g = &l->groups[i];
		if (!listing_wanted(w, g->first->id))
			continue;
		fputs(*any ? ",\n" : "\n", to);
		*any = true;
		e = apart ? put(to, coroutine(l, g->first, true), 0) : put_group(to, l, g);
	}
	return e;
}

int listing_json(FILE *to, const struct listing *l, const struct listing_wants *w)
{
	bool apart = w->all || w->nids, any = false;
	fputc('{', to);
	int e = put(to, head(l), JSON_EMBED);
	if (!e && w->tree)
		return put_tree(to, l, w);
	fprintf(to, ",\n\"%s\": [", apart ? "coroutines" : "groups");
	if (!e)
		e = listing_json_groups(to, l, w, &any);
	fputs("\n]", to);
	if (!e && apart && w->all)
		fputs(",\n\"ended\": []", to);
	fputs("}\n", to);
	return e;
}
