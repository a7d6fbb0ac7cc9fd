// SPDX-License-Identifier: MIT
//
// Recorded stacks are read once per id and stored once per content, so equal stacks have equal
// numbers. A live walk counts only if the coroutine's station was the same before and after
// it: then its registers and its stack belong together. Many stacks are read with few system
// calls. The program is not stopped for that: a coroutine that moves keeps the stack that it
// had when its station was copied.
#include "ps/read/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/idmap.h"
#include "unwind/php.h"
#include "unwind/unwind.h"

enum { LIVE_FRAMES = 256, AT_ONCE = 256, SCRIPT_FRAMES = 32 };
// A function of a script has no return address: its number stands in its place, above all that are.
#define SCRIPT (1ULL << 63)

struct look { // at some coroutines at once
	uint64_t offs[AT_ONCE];
	struct ctp_state before[AT_ONCE], after[AT_ONCE];
	struct unwind_near near[AT_ONCE];
	struct {
		uint64_t pcs[LIVE_FRAMES];
		uint32_t n;
		bool guessed;
	} walks[AT_ONCE];
};

struct kept {
	uint64_t *pcs;
	uint32_t n, flags;
};

struct stacks {
	const struct found *found;
	struct unwind *unwind; // made at the first walk
	struct look *look;
	struct kept *v; // [0] is none
	size_t n, capacity;
	struct idmap by_id, by_hash;
	bool looked;             // for an interpreter
	uint64_t php_lo, php_hi; // its code; 0, 0: there is none
	struct script **scripts;
	size_t nscripts, scripts_capacity;
};

struct script {
	struct symbols_frame frame;
	struct php_frame php; // holds its texts
};

int stacks_new(struct stacks **out, const struct found *f)
{
	struct stacks *s = calloc(1, sizeof(*s));
	if (!s || GROW(s->v, s->n, s->capacity)) {
		free(s);
		return -ENOMEM;
	}
	s->found = f;
	s->v[s->n++] = (struct kept){0};
	*out = s;
	return 0;
}

void stacks_free(struct stacks *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i].pcs);
	free(s->v);
	for (size_t i = 0; i < s->nscripts; i++)
		free(s->scripts[i]);
	free(s->scripts);
	idmap_deinit(&s->by_id);
	idmap_deinit(&s->by_hash);
	unwind_free(s->unwind);
	free(s->look);
	free(s);
}

static bool equal(const struct kept *k, const uint64_t *pcs, uint32_t n, uint32_t flags)
{
	return k->n == n && k->flags == flags && !memcmp(k->pcs, pcs, n * sizeof(*pcs));
}

// The number of this stack, which is kept if it is new.
static int keep(struct stacks *s, const uint64_t *pcs, uint32_t n, uint32_t flags, uint32_t *out)
{
	uint64_t hash = 0xcbf29ce484222325ULL ^ flags;
	uint32_t at;
	for (uint32_t i = 0; i < n; i++)
		hash = (hash ^ pcs[i]) * 0x100000001b3ULL + (hash >> 29);
	for (; (at = idmap_get(&s->by_hash, hash)) != IDMAP_NONE; hash++)
		if (equal(&s->v[at], pcs, n, flags)) {
			*out = at;
			return 0;
		}
	uint64_t *copy = malloc(n * sizeof(*pcs));
	int r = copy && n ? GROW(s->v, s->n, s->capacity) : -ENOMEM;
	if (!r)
		r = idmap_set(&s->by_hash, hash, (uint32_t)s->n);
	if (r) {
		free(copy);
		return r;
	}
	memcpy(copy, pcs, n * sizeof(*pcs));
	*out = (uint32_t)s->n;
	s->v[s->n++] = (struct kept){copy, n, flags};
	return 0;
}

static int read_recorded(const struct stacks *s, uint32_t id, uint64_t *pcs, uint32_t *n, uint32_t *flags)
{
	const struct ctp_ext *x = &s->found->header.ext;
	const struct source *from = &s->found->region;
	uint64_t head;
	uint32_t at;
	*n = 0;
	if (!id || id >= x->stacks_max)
		return 0;
	int r = source_read(from, x->stack_index_off + id * sizeof(at), &at, sizeof(at));
	if (r || !at || at >= x->stack_words_max)
		return r;
	r = source_read(from, x->stack_words_off + (at - 1) * sizeof(head), &head, sizeof(head));
	uint32_t count = (uint32_t)head;
	if (r || !count || count > CTP_FRAMES_MAX || count > x->stack_words_max - at)
		return r;
	r = source_read(from, x->stack_words_off + at * sizeof(*pcs), pcs, count * sizeof(*pcs));
	*n = r ? 0 : count;
	*flags = (uint32_t)(head >> 32);
	return r;
}

int stacks_recorded(struct stacks *s, uint32_t id, uint32_t *out)
{
	uint64_t pcs[CTP_FRAMES_MAX];
	uint32_t n, flags, number = 0, known = idmap_get(&s->by_id, id);
	if (known != IDMAP_NONE) {
		*out = known;
		return 0;
	}
	int r = read_recorded(s, id, pcs, &n, &flags);
	if (!r && n)
		r = keep(s, pcs, n, flags & (CTP_STACK_GUESSED | CTP_STACK_TRUNCATED), &number);
	if (!r)
		r = idmap_set(&s->by_id, id, number);
	if (!r)
		*out = number;
	return r;
}

// Did it sleep, as it was listed, from one copy of its station to the other?
static bool asleep(const struct coroutine *c, const struct ctp_state *before, const struct ctp_state *after)
{
	return c->settled && c->life == CTP_SUSPENDED && !(c->flags & CTP_STATE_SHARED_STACK) &&
	       before->id == c->id && before->changes == c->changes && before->life == CTP_SUSPENDED &&
	       !(after->seq & 1) && !memcmp(before, after, sizeof(*before));
}

static int find_php(void *arg, const struct maps_line *m)
{
	struct stacks *s = arg;
	if (m->perms[2] != 'x' || !php_is(file_base(m->path)))
		return 0;
	s->php_lo = m->lo;
	s->php_hi = m->hi;
	return 1;
}

bool stacks_have_scripts(struct stacks *s)
{
	if (!s->looked && !s->found->core)
		maps_each(s->found->pid, find_php, s);
	s->looked = true;
	return s->php_hi != 0;
}

const struct symbols_frame *stacks_script(const struct stacks *s, uint64_t pc)
{
	return pc & SCRIPT && (pc & ~SCRIPT) < s->nscripts ? &s->scripts[pc & ~SCRIPT]->frame : NULL;
}

// The number that stands for this function and line; 0: there is no memory.
static uint64_t script_number(struct stacks *s, const struct php_frame *f)
{
	for (size_t i = 0; i < s->nscripts; i++)
		if (s->scripts[i]->php.at == f->at && !strcmp(s->scripts[i]->php.name, f->name))
			return SCRIPT | i;
	struct script *one = calloc(1, sizeof(*one));
	if (!one || GROW(s->scripts, s->nscripts, s->scripts_capacity)) {
		free(one);
		return 0;
	}
	one->php = *f;
	one->frame = (struct symbols_frame){.pc = f->at,
					    .offset = f->at,
					    .symbol = one->php.name,
					    .file = *f->file ? one->php.file : NULL,
					    .line = (int)f->line};
	s->scripts[s->nscripts] = one;
	return SCRIPT | s->nscripts++;
}

// The functions of its script, before the machine's.
static uint32_t walk_script(struct stacks *s, const struct ctp_state *from, uint64_t *pcs)
{
	struct php_frame f[SCRIPT_FRAMES];
	uint32_t n = 0;
	size_t found = stacks_have_scripts(s) ?
			       php_frames(s->unwind, from, s->php_lo, s->php_hi, f, SCRIPT_FRAMES) :
			       0;
	for (size_t i = 0; i < found; i++) {
		uint64_t number = script_number(s, &f[i]);
		if (number)
			pcs[n++] = number;
	}
	return n;
}

// Return addresses now, without those of libctp.so.
static void walk(struct stacks *s, size_t i)
{
	const struct ctp_ext *x = &s->found->header.ext;
	struct look *l = s->look;
	uint64_t *pcs = l->walks[i].pcs;
	uint32_t scripts = walk_script(s, &l->before[i], pcs);
	size_t n = scripts + unwind_walk(s->unwind, &l->before[i], &l->near[i], pcs + scripts,
					 LIVE_FRAMES - scripts, &l->walks[i].guessed);
	l->walks[i].n = scripts;
	for (size_t k = scripts; k < n; k++)
		if (pcs[k] < x->self_base || pcs[k] >= x->self_end)
			pcs[l->walks[i].n++] = pcs[k];
}

static int take(struct stacks *s, size_t i, uint32_t *number)
{
	const uint64_t *pcs = s->look->walks[i].pcs;
	const struct kept *was = &s->v[*number];
	uint32_t n = s->look->walks[i].n;
	if (!n || (n <= was->n && !memcmp(pcs, was->pcs, n * sizeof(*pcs))))
		return 0; // the same, or only its beginning
	return keep(s, pcs, n,
		    (s->look->walks[i].guessed ? CTP_STACK_GUESSED : 0) |
			    (n == LIVE_FRAMES ? CTP_STACK_TRUNCATED : 0),
		    number);
}

static int look(struct stacks *s, const struct stacks_job *jobs, size_t n)
{
	struct look *l = s->look;
	for (size_t i = 0; i < n; i++)
		l->offs[i] = s->found->header.ext.states_off +
			     (uint64_t)jobs[i].c->station * sizeof(struct ctp_state);
	int r = source_read_many(&s->found->region, l->offs, n, l->before, sizeof(*l->before));
	if (r)
		return r;
	unwind_fetch(s->unwind, l->before, n, l->near);
	for (size_t i = 0; i < n; i++)
		walk(s, i);
	r = source_read_many(&s->found->region, l->offs, n, l->after, sizeof(*l->after));
	for (size_t i = 0; !r && i < n; i++)
		if (asleep(jobs[i].c, &l->before[i], &l->after[i]))
			r = take(s, i, jobs[i].number);
	return r;
}

int stacks_live(struct stacks *s, const struct stacks_job *jobs, size_t n)
{
	if (!n || s->found->core || (!s->unwind && unwind_new(&s->unwind, s->found->pid)))
		return 0; // as recorded, then
	if (!s->look && !(s->look = malloc(sizeof(*s->look))))
		return -ENOMEM;
	int r = 0;
	for (size_t at = 0; !r && at < n; at += AT_ONCE)
		r = look(s, jobs + at, n - at < AT_ONCE ? n - at : AT_ONCE);
	return r;
}

int stacks_walk(struct stacks *s, const struct ctp_state *from, uint32_t *out)
{
	const struct ctp_ext *x = &s->found->header.ext;
	uint64_t pcs[LIVE_FRAMES];
	bool guessed;
	uint32_t n = 0;
	*out = 0;
	if (s->found->core || (!s->unwind && unwind_new(&s->unwind, s->found->pid)))
		return 0;
	size_t all = unwind_walk(s->unwind, from, NULL, pcs, LIVE_FRAMES, &guessed);
	for (size_t i = 0; i < all; i++)
		if (pcs[i] < x->self_base || pcs[i] >= x->self_end)
			pcs[n++] = pcs[i];
	return n ? keep(s, pcs, n, guessed ? CTP_STACK_GUESSED : 0, out) : 0;
}

struct stacks_one stacks_get(const struct stacks *s, uint32_t number)
{
	if (number >= s->n)
		number = 0;
	return (struct stacks_one){s->v[number].pcs, s->v[number].n, s->v[number].flags};
}
