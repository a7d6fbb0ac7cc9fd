// SPDX-License-Identifier: MIT
//
// What src/frames has found becomes rows. The stack of one is that of its awaits: where it is suspended, then
// where the one that awaits it is, and so on. A frame found while the program ran may be a remnant, if the
// allocator's lists could not be read just then: it is looked for anew.
#include "ps/listing/stackless_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/living.h"
#include "base/search.h"
#include "frames/place.h"
#include "frames/program.h"
#include "frames/stackless.h"
#include "ps/listing/fd_names.h"
#include "ps/listing/listing_symbols.h"
#include "search/mark/scan.h"
#include "symbols/demangle.h"

enum { TRIES = 4, STACK_MOST = 64, STACKS_MOST = 4096 };
#define SEARCH_NS 30000000000ULL // at most
#define ADDRESS_MASK ((1ULL << 48) - 1)

struct known { // where a function's state is, once for all that are in it
	uint64_t key;
	uint64_t pc; // 0: not asked yet
	bool initial;
	bool near; // its line may be another one than that of its co_await
};

struct making {
	struct listing *l;
	const struct image *im;
	struct stackless_list list;
	struct known *known; // an open hash
	size_t places;
	const struct stackless_lost *which; // NULL: all
	const struct stackless *like;       // the frame of which `said` was said last; NULL: none
	bool like_near;
	const char *const *said;
};

static size_t peek(void *ctx, uint64_t at, void *to, size_t bytes)
{
	return image_peek(ctx, at, to, bytes);
}

// ---------------------------------------------------------------------- places

static int ask_place(struct making *m, const struct stackless *s, struct known *k)
{
	const struct suspension of = stackless_at(&m->list, s);
	struct place p;
	int e = place_find(&p, m->l->symbols, &of, s->pair->symbol);
	if (e)
		return e;
	k->pc = p.frame.pc;
	k->initial = p.initial;
	k->near = p.frame.line && !p.exact && !p.initial;
	place_deinit(&p);
	return 0;
}

// NULL: no memory.
static const struct known *place_of(struct making *m, const struct stackless *s)
{
	uint64_t key = (s->pair->resume << 16 | (s->known ? s->index + 1 : 0)) ^ (uint64_t)s->state << 60 ^ 1;
	size_t i = (key * 0x9e3779b97f4a7c15ULL >> 20) & (m->places - 1);
	while (m->known[i].pc && m->known[i].key != key)
		i = (i + 1) & (m->places - 1);
	m->known[i].key = key;
	return m->known[i].pc || !ask_place(m, s, &m->known[i]) ? &m->known[i] : NULL;
}

static bool make_table(struct making *m)
{
	for (m->places = 1024; m->places < 2 * m->list.n;)
		m->places *= 2;
	m->known = calloc(m->places, sizeof(*m->known));
	return m->known;
}

// ------------------------------------------------------------------------ rows

static enum listing_state state_of(const struct stackless *s, const struct known *k)
{
	static const enum listing_state as[] = {
		[STACKLESS_SUSPENDED] = LISTING_SUSPENDED,   [STACKLESS_INITIAL] = LISTING_INITIAL,
		[STACKLESS_FINAL] = LISTING_FINAL,           [STACKLESS_RUNNING] = LISTING_RUNNING,
		[STACKLESS_DESTROYING] = LISTING_DESTROYING, [STACKLESS_ENDED] = LISTING_MAY_HAVE_ENDED};
	return k->initial ? LISTING_INITIAL : as[s->state];
}

// Is the same said of both?
static bool alike(const struct stackless *a, const struct stackless *b)
{
	return a->pair == b->pair && a->same == b->same && a->nested == b->nested &&
	       !a->block.hi == !b->block.hi && a->unsure == b->unsure && a->known == b->known &&
	       (a->state == STACKLESS_FINAL) == (b->state == STACKLESS_FINAL) &&
	       (a->awaits == STACKLESS_NONE) == (b->awaits == STACKLESS_NONE);
}

static const char *const *say(struct making *m, const struct stackless *s, bool near)
{
	char text[400];
	struct listing_said said = {.n = 0};
	const char *maker = s->pair->maker == PAIR_GCC ? "GCC" : "Clang";
	char *name = s->pair->by_code ? NULL : demangle(s->pair->symbol);
	if (s->pair->by_code)
		snprintf(text, sizeof(text),
			 "its frame begins with two functions that no symbol names, and whose code is "
			 "as %s makes it to resume and to destroy a coroutine",
			 maker);
	else
		snprintf(text, sizeof(text), "its frame begins with the functions that %s made of %.300s",
			 maker, name ? name : "a coroutine");
	free(name);
	listing_say(m->l, &said, text);
	if (s->same > 1) {
		snprintf(text, sizeof(text),
			 "the linker has folded %u functions of the same code: it may be another of these",
			 s->same);
		listing_say(m->l, &said, text);
	}
	if (s->nested)
		listing_say(m->l, &said, "its frame lies in that of its caller");
	else if (s->block.hi)
		listing_say(m->l, &said, "its frame begins a block of malloc's that is in use");
	else
		listing_say(m->l, &said, "its frame lies in no block of malloc's: it may be a remnant");
	if (s->unsure)
		listing_say(m->l, &said, "the allocator's lists could not be read while the program ran");
	if (!s->known && s->state != STACKLESS_FINAL)
		listing_say(m->l, &said, "where it is suspended could not be read from its code");
	if (near)
		listing_say(m->l, &said, "the line is near that of its co_await: its code tells no other");
	if (s->awaits != STACKLESS_NONE)
		listing_say(m->l, &said, "another coroutine's promise leads to it: it awaits that one");
	return listing_evidence(m->l, &said);
}

// There may be a million that are alike, and they lie side by side.
static const char *const *evidence(struct making *m, const struct stackless *s, bool near)
{
	near = near && s->state == STACKLESS_SUSPENDED;
	if (!m->like || m->like_near != near || !alike(m->like, s)) {
		m->said = say(m, s, near);
		m->like = s;
		m->like_near = near;
	}
	return m->said;
}

static int set_chain(struct making *m, const struct stackless *s, struct listing_row *r)
{
	struct listing *l = m->l;
	if (s->awaits != STACKLESS_NONE)
		r->awaits = m->list.v[s->awaits].at;
	if (s->awaited_by != STACKLESS_NONE)
		r->awaited_by = m->list.v[s->awaited_by].at;
	uint64_t pcs[STACK_MOST];
	size_t n = 0;
	for (uint32_t at = (uint32_t)(s - m->list.v); at != STACKLESS_NONE && n < STACK_MOST;
	     at = m->list.v[at].awaited_by) {
		const struct known *k = place_of(m, &m->list.v[at]);
		if (!k)
			return -ENOMEM;
		pcs[n++] = k->pc + 1; // looked up as if it were returned to
	}
	r->stack = listing_async_stack(l, pcs, n);
	return r->stack ? 0 : -ENOMEM;
}

static int add_row(struct making *m, const struct stackless *s)
{
	const struct known *k = place_of(m, s);
	struct listing_row r = {.id = s->at,
				.stackless = true,
				.entry = s->pair->resume,
				.source = "search",
				.how = "its frame"};
	if (!k)
		return -ENOMEM;
	r.state = state_of(s, k);
	r.suspended_at = s->state == STACKLESS_RUNNING || s->state == STACKLESS_FINAL ? 0 : k->pc;
	r.evidence = evidence(m, s, k->near);
	r.lost = m->which;
	r.lost_why = m->which ? m->which->why : NULL;
	int e = set_chain(m, s, &r);
	return e ? e : listing_add(m->l, &r);
}

// -------------------------------------------------------------------- waits

// The row of the frame that an address lies in. Rows from `first` on are by address.
static struct listing_row *row_of(struct making *m, size_t first, uint64_t addr)
{
	const struct stackless_list *l = &m->list;
	size_t i = FIRST_NOT(l->n, k, l->v[k].at <= addr);
	if (!i || l->v[i - 1].block.hi <= addr)
		return NULL;
	struct listing_row *v = m->l->v + first;
	size_t n = m->l->n - first, at = FIRST_NOT(n, k, v[k].id < l->v[i - 1].at);
	return at < n && v[at].id == l->v[i - 1].at ? &v[at] : NULL;
}

// A registration whose data leads into a frame.
static void add_waits(struct making *m, size_t first)
{
	size_t n = 0;
	const struct listing_epoll *v = m->l->fds ? listing_fds_rows(m->l->fds, &n) : NULL;
	for (size_t i = 0; i < n; i++) {
		struct listing_row *r = row_of(m, first, v[i].data & ADDRESS_MASK);
		if (r && r->nwaits < LISTING_WAITS)
			r->waits[r->nwaits++] =
				(struct listing_wait){v[i].stale ? -1 : v[i].fd, v[i].epfd, v[i].events};
	}
}

// ----------------------------------------------------------------------- all

static size_t stacks(const struct image *im, struct stackless_stack *v)
{
	size_t n = 0;
	for (size_t i = 0; i < im->nthreads && n < STACKS_MOST; i++) {
		uint64_t sp = im->threads[i].placed ? im->threads[i].regs[CTP_REG_SP] : 0;
		const struct maps_line *line = sp ? image_map(im, sp) : NULL;
		if (line)
			v[n++] = (struct stackless_stack){sp, line->hi};
	}
	return n;
}

static bool any_unsure(const struct stackless_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].unsure)
			return true;
	return false;
}

static int find(struct making *m, const struct pairs *p, const struct span *skip, size_t nskip)
{
	struct stackless_stack *s = calloc(STACKS_MOST, sizeof(*s));
	int e = s ? 0 : -ENOMEM;
	for (unsigned i = 0; !e && i < TRIES; i++) {
		struct stackless_where w = {.memory = &m->im->memory,
					    .pairs = p,
					    .code = {peek, (void *)m->im},
					    .stacks = s,
					    .nstacks = stacks(m->im, s),
					    .skip = skip,
					    .nskip = nskip};
		stackless_deinit(&m->list);
		e = stackless_find(&m->list, &w);
		if (!e && !any_unsure(&m->list))
			break;
	}
	free(s);
	return e;
}

// Nothing leads to its block, and it stood here at the look before. One of which it is not known that it
// lives is not lost.
static int is_lost(struct making *m, const struct stackless *s, bool *lost)
{
	const struct span_list *u = m->which->unreached;
	uint64_t at = s->pair->resume ^ s->index << 48;
	bool waits = s->state == STACKLESS_SUSPENDED || s->state == STACKLESS_INITIAL;
	*lost = u && waits && !s->unsure && s->block.hi && scan_find(u->v, u->n, s->block.lo) < u->n;
	if (!*lost || !m->which->first) {
		*lost = *lost && listing_seen_has(m->which->seen, s->at, at);
		return 0;
	}
	*lost = false;
	return listing_seen_add(m->which->seen, s->at, at);
}

static int fill(struct making *m)
{
	size_t first = m->l->n;
	int e = make_table(m) ? 0 : -ENOMEM;
	for (size_t i = 0; !e && i < m->list.n; i++) {
		bool wanted = true;
		if (m->which)
			e = is_lost(m, &m->list.v[i], &wanted);
		if (!e && wanted)
			e = add_row(m, &m->list.v[i]);
	}
	if (!e)
		add_waits(m, first);
	return e;
}

static int read_pairs(struct pairs *p, const struct image *im)
{
	const char *unnamed;
	const struct program of = {im->core.n ? 0 : im->pid, im->maps, im->nmaps, true};
	return program_pairs(p, &of, &unnamed);
}

static int rows(struct listing *l, const struct image *im, const struct pairs *pairs, const struct span *skip,
		size_t nskip, const struct stackless_lost *which)
{
	struct making m = {.l = l, .im = im, .which = which};
	int e = find(&m, pairs, skip, nskip);
	if (which) {
		which->seen->known |= which->first;
		l->all += e ? 0 : m.list.n;
	}
	if (!e && m.list.n)
		e = fill(&m);
	l->inside += m.list.inside;
	if ((e == -EAGAIN || e == -EIO) && !*l->partial)
		snprintf(l->partial, sizeof(l->partial), "C++20 coroutines: memory could not be read%s",
			 e == -EAGAIN ? " in time" : "");
	free(m.known);
	stackless_deinit(&m.list);
	return e == -EAGAIN || e == -EIO ? 0 : e;
}

int stackless_rows(struct listing *l, const struct image *im, const struct span *skip, size_t nskip,
		   const struct stackless_lost *which)
{
	struct pairs pairs = {0};
	int e = read_pairs(&pairs, im);
	if (!e && pairs.n)
		e = rows(l, im, &pairs, skip, nskip, which);
	pairs_deinit(&pairs);
	return e;
}

static int read_symbols(struct listing *l, const struct image *im)
{
	struct objects o = {0};
	int e = objects_read(&o, im);
	if (!e)
		e = listing_symbols_make(l, &o);
	objects_deinit(&o);
	return e;
}

static int read_fds(struct listing *l)
{
	char folder[32];
	snprintf(folder, sizeof(folder), "/proc/%d", (int)living_of(l->pid));
	return !l->core && listing_fds_read(&l->fds, folder) == -ENOMEM ? -ENOMEM : 0;
}

static int make_listing(struct listing *l, const struct image *im, const struct pairs *pairs,
			const struct span *skip, size_t nskip, bool apart)
{
	int e = read_symbols(l, im);
	if (!e)
		e = read_fds(l);
	if (!e)
		e = rows(l, im, pairs, skip, nskip, NULL);
	return e ? e : listing_finish(l, apart);
}

// Tells other code from the same.
static uint64_t code_of(const struct image *im)
{
	uint64_t h = 1;
	for (size_t i = 0; i < im->nmaps; i++) {
		const struct maps_line *m = &im->maps[i];
		if (m->perms[2] == 'x' && m->ino)
			h = (h ^ m->lo ^ m->hi << 20 ^ m->ino << 40) * 0x9e3779b97f4a7c15ULL;
	}
	return h;
}

void stackless_forget(struct listing *l, struct stackless_kept *k)
{
	listing_deinit(l);
	pairs_deinit(&k->pairs);
	*k = (struct stackless_kept){.read = false};
}

bool stackless_is_of(const struct stackless_kept *k, const struct image *im)
{
	return k->read && k->code == code_of(im);
}

int stackless_keep(struct stackless_kept *k, const struct image *im, bool anew)
{
	if (!anew && stackless_is_of(k, im))
		return 0;
	pairs_deinit(&k->pairs);
	*k = (struct stackless_kept){.code = code_of(im)};
	int e = read_pairs(&k->pairs, im);
	k->read = !e;
	return e;
}

int stackless_rows_kept(struct listing *l, const struct image *im, const struct stackless_kept *k)
{
	return k->pairs.n ? rows(l, im, &k->pairs, im->skip, im->nskip, NULL) : 0;
}

int stackless_again(struct listing *l, struct stackless_kept *k, pid_t pid, const struct span *skip,
		    size_t nskip, bool *anew)
{
	struct image im;
	listing_again(l);
	int e = image_of_process(&im, pid, clock_mono_ns() + SEARCH_NS);
	if (e)
		return e;
	im.skip = skip;
	im.nskip = nskip;
	*anew = !stackless_is_of(k, &im);
	if (*anew) {
		stackless_forget(l, k);
		l->pid = im.pid;
	}
	e = stackless_keep(k, &im, *anew);
	if (!e && k->pairs.n && *anew)
		e = read_symbols(l, &im);
	if (!e && k->pairs.n)
		e = read_fds(l);
	if (!e)
		e = stackless_rows_kept(l, &im, k);
	image_close(&im);
	l->n = e ? 0 : l->n;
	return e;
}

int stackless_listing(struct listing *l, pid_t pid, const char *core, const struct span *skip, size_t nskip,
		      bool apart)
{
	struct image im;
	struct pairs pairs = {0};
	uint64_t deadline = clock_mono_ns() + SEARCH_NS;
	*l = (struct listing){.core = core, .pid = pid};
	int e = core ? image_of_core(&im, core, deadline) : image_of_process(&im, pid, deadline);
	if (e)
		return e;
	l->pid = im.pid;
	e = read_pairs(&pairs, &im);
	if (!e && pairs.n)
		e = make_listing(l, &im, &pairs, skip, nskip, apart);
	pairs_deinit(&pairs);
	image_close(&im);
	if (e)
		listing_deinit(l);
	return e;
}
