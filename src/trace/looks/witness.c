// SPDX-License-Identifier: MIT
//
// Merges what ctp-run witnessed. A later inspection replaces an answer only where it
// knows more: an open answer replaces none, and a later "no" replaces a "yes" unless that
// "yes" cannot change (see `lasting`). The filter leaves out inspections of a coroutine
// that has run since.
#include "trace/looks/witness.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/json.h"
#include "ctp/rules.h"

// What stays true once it was: nothing was in flight, it had its chance,
// garbage stays garbage, and what is quiet without an outside stays quiet.
static const bool lasting[PROOFS] = {
	[PROOF_P4] = true,
	[PROOF_P5] = true,
	[PROOF_P6A] = true,
	[PROOF_P6B] = true,
};

// That nothing leads to a coroutine lasts only if disguises were looked for, too, as they are where all else
// is shown.
static bool lasts(const struct witness *w, enum proof p)
{
	return lasting[p] && (p != PROOF_P6A || w->disguises);
}

static void item_merge(struct witness *w, enum proof p, enum holds holds, const char *text, uint64_t ns)
{
	struct witness_item *to = &w->items[p];
	bool known = to->holds != HOLDS_OPEN;
	if ((holds == HOLDS_OPEN && (known || to->text)) ||
	    (holds == HOLDS_FALSE && to->holds == HOLDS_TRUE && lasts(w, p)))
		return;
	if (p == PROOF_P0 && to->holds == HOLDS_FALSE)
		return; // a gap stays a gap
	if (holds != to->holds)
		to->since_ns = ns;
	to->holds = holds;
	char *copy = text ? strdup(text) : NULL;
	if (copy) {
		free(to->text);
		to->text = copy;
	}
}

static void merge_evidence(struct witness *w, const json_t *evidence, uint64_t ns)
{
	size_t i;
	json_t *o;
	json_array_foreach(evidence, i, o)
	{
		enum proof p = proof_find(json_string_value(json_object_get(o, "id")));
		const json_t *holds = json_object_get(o, "holds");
		if (p < PROOFS)
			item_merge(w, p,
				   json_is_true(holds)  ? HOLDS_TRUE :
				   json_is_false(holds) ? HOLDS_FALSE :
							  HOLDS_OPEN,
				   json_string_value(json_object_get(o, "text")), ns);
	}
}

static void free_open(struct witness *w)
{
	for (size_t i = 0; i < w->nopen; i++)
		free(w->open[i]);
	free(w->open);
	w->open = NULL;
	w->nopen = 0;
}

static int merge_open(struct witness *w, const json_t *open)
{
	size_t n = json_array_size(open);
	if (!n)
		return 0;
	free_open(w);
	w->open = calloc(n, sizeof(*w->open));
	if (!w->open)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const char *s = json_string_value(json_array_get(open, i));
		if (s && !(w->open[w->nopen] = strdup(s)))
			return -ENOMEM;
		w->nopen += s != NULL;
	}
	return 0;
}

// Of several lines the one that says most.
static void merge_beside(struct witness_beside *to, const json_t *o)
{
	bool there = json_is_true(json_object_get(o, "there"));
	if (o && (!to->is || (there && !to->there)))
		*to = (struct witness_beside){true, there, json_integer_value(json_object_get(o, "fd")),
					      json_integer_value(json_object_get(o, "gen"))};
}

// Does the line answer P? 1, 0, or -1: it leaves it open, and what was seen before stands.
static int answers(const json_t *o, enum proof p)
{
	size_t i;
	json_t *e;
	json_array_foreach(json_object_get(o, "evidence"), i, e)
	{
		const json_t *holds = json_object_get(e, "holds");
		if (proof_find(json_string_value(json_object_get(e, "id"))) == p)
			return json_is_boolean(holds) ? json_is_true(holds) : -1;
	}
	return -1;
}

// What weakens an answer is as the last line has it that gives this answer.
static void merge_doubts(struct witness *w, const json_t *o)
{
	int memory = answers(o, PROOF_P6A);
	if (memory >= 0)
		w->pooled = json_is_true(json_object_get(o, "free_list"));
	if (memory > 0) // garbage stays garbage
		w->unchecked = json_is_true(json_object_get(o, "unchecked"));
	if (answers(o, PROOF_P3) >= 0)
		w->put_off = json_is_true(json_object_get(o, "put_off"));
}

static struct witness *find(const struct witness_set *set, unsigned rule, uint64_t coroutine, int64_t fd,
			    int64_t gen)
{
	uint32_t i = idmap_get(&set->last, coroutine);
	while (i != IDMAP_NONE &&
	       (set->items[i].fd != fd || set->items[i].gen != gen || set->items[i].rule != rule))
		i = set->items[i].older;
	return i == IDMAP_NONE ? NULL : &set->items[i];
}

static int add(struct witness_set *set, unsigned rule, uint64_t coroutine, int64_t fd, int64_t gen,
	       struct witness **out)
{
	*out = find(set, rule, coroutine, fd, gen);
	if (*out)
		return 0;
	int r = GROW(set->items, set->n, set->capacity);
	uint32_t older = idmap_get(&set->last, coroutine);
	if (!r)
		r = idmap_set(&set->last, coroutine, (uint32_t)set->n);
	if (r)
		return r;
	*out = &set->items[set->n++];
	**out = (struct witness){.rule = rule, .coroutine = coroutine, .fd = fd, .gen = gen, .older = older};
	return 0;
}

static void set_string(char **to, const json_t *value)
{
	char *copy = json_is_string(value) ? strdup(json_string_value(value)) : NULL;
	if (copy) {
		free(*to);
		*to = copy;
	}
}

// All of it was shown that a look can show.
static bool shows_all(const json_t *o)
{
	size_t i;
	json_t *e;
	unsigned held = 0;
	json_array_foreach(json_object_get(o, "evidence"), i, e)
	{
		enum proof p = proof_find(json_string_value(json_object_get(e, "id")));
		if (p < PROOFS && json_is_true(json_object_get(e, "holds")))
			held |= proof_bit(p);
	}
	return proof_witnessed(held) && !json_is_true(json_object_get(o, "free_list"));
}

struct witness_reading {
	struct witness_set *set;
	witness_filter counts;
	void *arg;
};

// A line that is no look at a suspect.
static int other_line(struct witness_set *set, const json_t *o)
{
	const char *what = json_string_value(json_object_get(o, "what"));
	const json_t *text = json_object_get(o, "text");
	if (what && !strcmp(what, "control") && json_is_string(text))
		set_string(&set->control, text);
	else
		set->bad_lines++;
	return 0;
}

// Where the search misses coroutines that are alive, that it found nothing is no answer.
static int doubt(struct witness_set *set)
{
	for (size_t i = 0; set->control && i < set->n; i++) {
		struct witness_item *p6a = &set->items[i].items[PROOF_P6A];
		if (p6a->holds != HOLDS_TRUE)
			continue;
		char *copy = strdup(set->control);
		if (!copy)
			return -ENOMEM;
		free(p6a->text);
		*p6a = (struct witness_item){.holds = HOLDS_OPEN, .text = copy};
	}
	return 0;
}

static int note_ran(struct witness_set *set, uint64_t id)
{
	for (size_t i = 0; i < set->nran; i++)
		if (set->ran[i] == id)
			return 0;
	int r = GROW(set->ran, set->nran, set->ran_room);
	if (!r)
		set->ran[set->nran++] = id;
	return r;
}

// A word of memory that leads to it, not a registration that does.
static bool is_of_memory(const char *open)
{
	return strstr(open, " leads to it") && !strstr(open, "is registered");
}

// One look found that nothing in memory leads to it, which lasts. What another found is no way to it.
static void drop_memory(struct witness *w)
{
	size_t kept = 0;
	for (size_t i = 0; i < w->nopen; i++) {
		if (is_of_memory(w->open[i]))
			free(w->open[i]);
		else
			w->open[kept++] = w->open[i];
	}
	w->nopen = kept;
}

static int witness_line(void *ctx, const json_t *o)
{
	const struct witness_reading *is = ctx;
	struct witness_set *set = is->set;
	if (json_object_get(o, "what"))
		return other_line(set, o);
	const json_t *id = json_object_get(o, "coroutine"), *changes = json_object_get(o, "changes");
	const json_t *fd = json_object_get(o, "fd"), *gen = json_object_get(o, "gen");
	if (!json_is_integer(id) || !json_is_integer(changes) || !json_is_integer(fd) ||
	    !json_is_integer(gen)) {
		set->bad_lines++;
		return 0;
	}
	int so = is->counts(is->arg, (uint64_t)json_integer_value(id), (uint64_t)json_integer_value(changes));
	if (so <= 0)
		return so < 0 && shows_all(o) ? note_ran(set, (uint64_t)json_integer_value(id)) : 0;
	struct witness *w;
	const char *rule = json_string_value(json_object_get(o, "rule"));
	int r = add(set, rule ? rules_number(rule) : RULE_LOST_WAKEUP, // lines of before have none
		    (uint64_t)json_integer_value(id), json_integer_value(fd), json_integer_value(gen), &w);
	if (r)
		return r;
	uint64_t ns = (uint64_t)json_integer_value(json_object_get(o, "ns"));
	w->changes = (uint64_t)json_integer_value(changes);
	w->ns = ns > w->ns ? ns : w->ns;
	uint64_t turns = (uint64_t)json_integer_value(json_object_get(o, "turns"));
	w->turns = turns > w->turns ? turns : w->turns;
	set_string(&w->fd_kind, json_object_get(o, "fd_kind"));
	set_string(&w->fd_name, json_object_get(o, "fd_name"));
	merge_evidence(w, json_object_get(o, "evidence"), ns);
	w->disguises |= shows_all(o) && answers(o, PROOF_P6A) > 0;
	merge_beside(&w->beside, json_object_get(o, "beside"));
	merge_doubts(w, o);
	const json_t *cand = json_object_get(o, "cand");
	w->ended = json_is_integer(cand) && json_integer_value(cand) < UINT32_MAX;
	w->ticking = json_integer_value(json_object_get(o, "ticking")) > 0;
	w->left_unread = json_is_true(json_object_get(o, "left_unread"));
	w->left_timed = json_is_true(json_object_get(o, "left_timed"));
	w->wrong_mask = json_is_true(json_object_get(o, "wrong_mask"));
	w->wrote = json_is_true(json_object_get(o, "wrote"));
	w->sent = json_is_true(json_object_get(o, "sent"));
	if (!w->passed_ns && json_is_true(json_object_get(o, "own_threads_passed")))
		w->passed_ns = ns;
	w->slept_long |= json_is_true(json_object_get(o, "slept_long"));
	return merge_open(w, json_object_get(o, "open"));
}

// Nobody is lost for good to whom only plain pointers were looked for. Who is parked is told of all the same:
// that is never PROVEN.
static void doubt_plain(struct witness *w)
{
	struct witness_item *p6a = &w->items[PROOF_P6A];
	char *copy =
		p6a->holds == HOLDS_TRUE && !w->disguises && w->rule != RULE_PARKED ?
			strdup("no plain pointer was found; disguises are looked for where all else is shown") :
			NULL;
	if (!copy)
		return;
	free(p6a->text);
	p6a->text = copy;
	p6a->holds = HOLDS_OPEN;
}

int witness_read(struct witness_set *set, int folder, const char *name, witness_filter counts, void *arg)
{
	struct witness_reading is = {set, counts, arg};
	int e = json_each_line(folder, name, witness_line, &is, &set->bad_lines);
	e = e ? e : doubt(set);
	for (size_t i = 0; i < set->n; i++) {
		doubt_plain(&set->items[i]);
		if (set->items[i].items[PROOF_P6A].holds == HOLDS_TRUE)
			drop_memory(&set->items[i]);
	}
	return e;
}

void witness_deinit(struct witness_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->n; i++) {
		struct witness *w = &set->items[i];
		for (unsigned p = 0; p < PROOFS; p++)
			free(w->items[p].text);
		free_open(w);
		free(w->fd_kind);
		free(w->fd_name);
	}
	free(set->items);
	free(set->ran);
	free(set->control);
	idmap_deinit(&set->last);
	memset(set, 0, sizeof(*set));
}

const struct witness *witness_find(const struct witness_set *set, unsigned rule, uint64_t coroutine,
				   int64_t fd, int64_t gen)
{
	return find(set, rule, coroutine, fd, gen);
}
