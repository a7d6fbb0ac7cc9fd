// SPDX-License-Identifier: MIT
//
// Looks where the addresses lead that a parked coroutine has in its registers and innermost frames: one of
// them may be the queue from which it takes its work. equal_words.h learns which words there are equal
// whenever it waits. If they differ for two seconds, and nothing is taken, though loops go on or sleep, what
// should have resumed it was lost: or it waits for something else. All that were seen to wait there must do
// so, or have ended. Where they came to wait after something lay there, they may have put it there, and wait
// for an answer: then nobody else who knows the same two words may have waited as often, and be elsewhere:
// that would be who takes, and is slow. So those with a known wait are looked at, too; the reader of the line
// leaves them out. Memory is only read; nothing of it is written down.
#include "engine/sets/set_filled.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ctp/seq.h"
#include "ctp/there.h"
#include "engine/inspect/inspect.h"
#include "engine/sets/equal_words.h"
#include "engine/sets/set_line.h"
#include "engine/sets/set_parked.h"
#include "engine/target/names.h"

#define MS 1000000ULL
enum {
	STEP_MS = 20,
	REST_MS = 200, // where nothing moves
	MAPS_MS = 1000,
	GAP_MS = 1000,
	LEAST_MS = 2000,
	SHARE = 100,      // of the time between two looks
	MAPS_SHARE = 200, // of the time between two readings of the mappings
	TIMES_LATE = 20,
	MOVES_LEAST = 2,
	PARKS_LEAST = 2,     // of who is told, with this one
	ALL_PARKS_LEAST = 4, // of all who wait there
	WHO_MOST = 64,
	HANDLE_NEAR = 1024,
	INDEX_MOST = 1 << 30,
	ELEMENT_MOST = 512,
	ALIKE_MOST = 8, // of one stack
	WORDS_MOST = 64,
	BASES_MOST = 24,
	WINDOWS_MOST = 512,
	ROWS_MOST = 4096
};

struct set_filled {
	const struct ctp_region *r;
	pid_t pid;
	struct proc_maps maps;
	uint64_t maps_ns, maps_moved; // when they may be read again; what had moved when they were
	uint64_t again_ns, moved, looked_ns;
	struct equal_look look;
	struct ctp_state who[WHO_MOST]; // at the last look
	size_t nwho;
	struct equal_words v[WINDOWS_MOST];
	struct equal_words *seen[WINDOWS_MOST]; // at the last look
	size_t nseen;
	uint64_t told, told_ns; // who, and for how long then
};

struct set_filled *set_filled_new(const struct ctp_region *r, pid_t pid)
{
	struct set_filled *f = calloc(1, sizeof(*f));
	if (f) {
		f->r = r;
		f->pid = pid;
		f->look.gap_ns = GAP_MS * MS;
	}
	return f;
}

void set_filled_free(struct set_filled *f)
{
	for (size_t i = 0; f && i < WINDOWS_MOST; i++)
		equal_words_deinit(&f->v[i]);
	if (f)
		proc_maps_deinit(&f->maps);
	free(f);
}

// ------------------------------------------------------------- where to look

static bool is_allocators(const struct maps_line *m)
{
	return strstr(m->path, "/libc.so") || strstr(m->path, "/ld-linux");
}

// libc's data, and what follows it: free blocks of the heap have links there.
static void find_avoided(struct set_filled *f)
{
	struct span *a = &f->look.avoid;
	*a = (struct span){0};
	for (size_t i = 0; i < f->maps.n; i++) {
		const struct maps_line *m = &f->maps.v[i];
		bool after = a->hi == m->lo && !*m->path;
		if (!after && !strstr(m->path, "/libc.so"))
			continue;
		a->lo = a->lo ? a->lo : m->lo;
		a->hi = m->hi;
	}
}

static uint64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

// A program may have as many mappings as stacks: it takes long, and is not done where nothing moves.
static void read_maps(struct set_filled *f, uint64_t now)
{
	uint64_t moved = ctp_region_moves(f->r), began = cpu_ns();
	if (f->maps.n && (now < f->maps_ns || moved == f->maps_moved))
		return;
	proc_maps_deinit(&f->maps);
	if (proc_maps_read(f->pid, &f->maps))
		f->maps = (struct proc_maps){0};
	find_avoided(f);
	uint64_t pause = MAPS_SHARE * (cpu_ns() - began);
	f->maps_moved = moved;
	f->maps_ns = now + (pause > MAPS_MS * MS ? pause : MAPS_MS * MS);
}

static bool is_data(const struct set_filled *f, uint64_t at)
{
	const struct ctp_ext *e = f->r->ext;
	const struct maps_line *m = at % sizeof(at) ? NULL : proc_maps_find(&f->maps, at);
	return m && !strncmp(m->perms, "rw-", 3) && at - e->region_base >= f->r->bytes &&
	       !(at >= e->self_base && at < e->self_end) && !is_allocators(m) &&
	       !(at >= f->look.avoid.lo && at < f->look.avoid.hi);
}

// The row of a window: where it is, or may be: one that was not looked at for longest gives way.
static struct equal_words *window(struct set_filled *f, uint64_t stack, uint64_t base)
{
	size_t from = (size_t)((stack * 0x9e3779b97f4a7c15ULL ^ base * 0xff51afd7ed558ccdULL) >> 40);
	struct equal_words *oldest = NULL;
	for (size_t i = 0; i < 8; i++) {
		struct equal_words *e = &f->v[(from + i) % WINDOWS_MOST];
		if (e->base == base && e->stack == stack)
			return e;
		if (!e->base || !oldest || (oldest->base && e->look < oldest->look))
			oldest = !oldest || oldest->base ? e : oldest;
	}
	if (oldest->base && oldest->look + 1 >= f->look.number)
		return NULL; // all are in use
	equal_words_deinit(oldest);
	oldest->stack = stack;
	oldest->base = base;
	return oldest;
}

static bool same(const struct ctp_region *r, uint64_t station, const struct ctp_state *was)
{
	struct ctp_state now;
	return ctp_state_read(&r->states[station], &now) && now.id == was->id && now.changes == was->changes;
}

static void visit(struct set_filled *f, uint64_t station, const struct ctp_state *c, uint64_t base)
{
	uint64_t words[EQUAL_WORDS];
	size_t n = proc_peek(f->pid, base, words, sizeof(words), false) / sizeof(*words);
	struct equal_words *e = n && same(f->r, station, c) ? window(f, c->stack, base) : NULL;
	if (e && (e->look != f->look.number || !e->nvisitors))
		f->seen[f->nseen++] = e;
	if (e)
		equal_words_visit(e, &f->look, &(struct equal_member){c->id, c->changes, station, 0}, words,
				  n);
}

static void look_at(struct set_filled *f, uint64_t station, const struct ctp_state *c)
{
	uint64_t words[WORDS_MOST], bases[BASES_MOST], sp = c->regs[CTP_REG_SP];
	size_t n = CTP_REGS, nbases = 0, room = sizeof(words) - sizeof(c->regs);
	memcpy(words, c->regs, sizeof(c->regs));
	n += proc_peek(f->pid, sp, words + CTP_REGS, c->hi - sp < room ? c->hi - sp : room, false) /
	     sizeof(*words);
	for (size_t i = 0; i < n && nbases < BASES_MOST; i++) {
		bool known = (words[i] >= c->lo && words[i] < c->hi) || !is_data(f, words[i]);
		for (size_t k = 0; k < nbases && !known; k++)
			known = bases[k] == words[i];
		if (!known)
			bases[nbases++] = words[i];
	}
	for (size_t i = 0; i < nbases; i++)
		visit(f, station, c, bases[i]);
}

// ------------------------------------------------------------- a look

static uint64_t turns(const struct ctp_region *r, bool *asleep)
{
	uint32_t n = ctp_load32(&r->ext->thread_high);
	uint64_t sum = 0;
	*asleep = true;
	for (uint32_t i = 0; i < n && i < r->threads_max; i++) {
		const struct ctp_thread *t = &r->threads[i];
		if (ctp_load32(&t->life) != CTP_THREAD_LIVE || !t->switches)
			continue;
		sum += t->turns + t->polls + t->sets;
		*asleep &= ctp_load64(&t->wait_seq) & 1;
	}
	return sum;
}

static void take(struct set_filled *f, uint64_t now)
{
	struct ctp_walk w = ctp_walk_states(f->r);
	bool asleep;
	f->nseen = f->nwho = 0;
	f->look.number++;
	f->look.ns = now;
	f->look.turns = turns(f->r, &asleep);
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n && w.rows < ROWS_MOST && f->nwho < WHO_MOST;
	     i = ctp_walk_from(&w, i + 1)) {
		struct ctp_state c;
		size_t alike = 0;
		if (!set_suspended(f->r, i, &c) || !c.stack)
			continue;
		for (size_t k = 0; k < f->nwho; k++)
			alike += f->who[k].stack == c.stack;
		if (alike == ALIKE_MOST)
			continue;
		f->who[f->nwho++] = c;
		look_at(f, i, &c);
	}
	for (size_t i = 0; i < f->nseen; i++)
		equal_words_judge(f->seen[i], &f->look);
}

bool set_filled_poll(struct set_filled *f, uint64_t now)
{
	if (!f || now < f->again_ns)
		return false;
	uint64_t moved = ctp_region_moves(f->r);
	f->again_ns = now + STEP_MS * MS;
	if (moved == f->moved && now < f->looked_ns + REST_MS * MS)
		return false;
	f->moved = moved;
	f->looked_ns = now;
	if (proc_stopped(f->pid)) {
		f->look.number++; // nothing is known of the time until the next one
		return false;
	}
	read_maps(f, now);
	uint64_t began = cpu_ns();
	take(f, now);
	uint64_t cost = SHARE * (cpu_ns() - began);
	f->again_ns = now + (cost > STEP_MS * MS ? cost : STEP_MS * MS);
	return true;
}

// ------------------------------------------------------------- what is told

static bool stays(const struct ctp_region *r, const struct equal_member *m, uint32_t stack, bool *ended)
{
	struct ctp_state c;
	*ended = !ctp_state_read(&r->states[m->station], &c) || c.id != m->id ||
		 (c.life != CTP_SUSPENDED && c.life != CTP_RUNNING);
	return !*ended && c.life == CTP_SUSPENDED && c.stack == stack;
}

// Do all wait there that ever did, and have not ended? *most: how often one of them did; *all: they together.
static bool all_stay(const struct ctp_region *r, const struct equal_words *e, uint32_t *most, uint32_t *all)
{
	*most = *all = 0;
	for (size_t i = 0; i < e->nmembers; i++) {
		const struct equal_member *m = &e->members[i];
		bool ended;
		*all += m->parks;
		if (!stays(r, m, (uint32_t)e->stack, &ended) && !ended)
			return false;
		*most = !ended && m->parks > *most ? m->parks : *most;
	}
	return !e->many;
}

static bool is_member(const struct equal_words *e, uint64_t id)
{
	for (size_t i = 0; i < e->nmembers; i++)
		if (e->members[i].id == id)
			return true;
	return false;
}

// Is there one elsewhere who waited as often, with the same words, or nearly? Those who wait here do not
// count.
static bool other_takes(const struct set_filled *f, const struct equal_words *e, const struct equal_pair *p,
			uint32_t most)
{
	for (size_t i = 0; i < WINDOWS_MOST; i++) {
		const struct equal_words *o = &f->v[i];
		if (o == e || !o->base || o->stack == e->stack ||
		    !equal_words_same(o, e->base + p->a, e->base + p->b))
			continue;
		for (size_t k = 0; k < o->nmembers; k++) {
			bool ended;
			if (o->members[k].parks + 1 >= most && !is_member(e, o->members[k].id) &&
			    !stays(f->r, &o->members[k], (uint32_t)o->stack, &ended) && !ended)
				return true;
		}
	}
	return false;
}

// Does it lead to a coroutine? Then it stands in a list of those who wait.
static bool is_handle(const struct set_filled *f, uint64_t v)
{
	for (size_t i = 0; i < f->nwho; i++)
		if ((v >= f->who[i].lo && v < f->who[i].hi) ||
		    v - f->who[i].slot + HANDLE_NEAR < 2 * HANDLE_NEAR)
			return true;
	return false;
}

// An index goes on by ones; an address by what lies there.
static bool is_end(const struct set_filled *f, const struct equal_pair *p)
{
	uint64_t v = p->v;
	if (v < INDEX_MOST)
		return p->step == 1;
	return p->bytes == 8 && p->step % 4 == 0 && p->step <= ELEMENT_MOST && is_data(f, v & ~7ULL) &&
	       !is_handle(f, v);
}

static const struct equal_pair *is_such(const struct set_filled *f, const struct equal_words *e)
{
	const struct equal_pair *p = equal_words_differ(e, LEAST_MS * MS);
	uint32_t most, all;
	bool asleep;
	uint64_t now = turns(f->r, &asleep);
	return p && p->moves >= MOVES_LEAST && p->moves > p->jumps && is_end(f, p) &&
			       e->ns - p->since_ns >= TIMES_LATE * p->longest_ns &&
			       (asleep || now > p->turns) && all_stay(f->r, e, &most, &all) &&
			       most >= PARKS_LEAST && all >= ALL_PARKS_LEAST &&
			       (p->here || !other_takes(f, e, p, most)) ?
		       p :
		       NULL;
}

bool set_filled_any(struct set_filled *f, bool *fresh)
{
	uint64_t sum = 0, longest = 0, began = cpu_ns();
	for (size_t i = 0; f && i < f->nseen; i++) {
		const struct equal_pair *p = is_such(f, f->seen[i]);
		uint64_t lasts = p ? f->seen[i]->ns - p->since_ns : 0;
		sum += p ? f->seen[i]->who : 0;
		longest = lasts > longest ? lasts : longest;
	}
	if (fresh)
		*fresh = sum && (sum != f->told || longest >= 2 * f->told_ns);
	if (fresh && *fresh) {
		f->told = sum;
		f->told_ns = longest;
	}
	if (f) // what is asked of each look is part of what it costs
		f->again_ns += SHARE * (cpu_ns() - began);
	return sum != 0;
}

static void write_one(FILE *out, const struct set_filled *f, const struct equal_words *e,
		      const struct equal_pair *p)
{
	char symbol[160], at[32];
	uint32_t most, all;
	json_t *who = json_array();
	all_stay(f->r, e, &most, &all);
	for (size_t i = 0; i < e->nvisitors; i++)
		json_array_append_new(who, json_pack("[I, I]", (json_int_t)e->visitors[i].id,
						     (json_int_t)e->visitors[i].changes));
	snprintf(at, sizeof(at), "0x%llx", (unsigned long long)(e->base + p->a));
	json_t *o = json_pack("{s:i, s:s, s:o, s:b, s:s, s:i, s:I, s:i, s:I, s:I, s:I, s:I}", "v", 1, "what",
			      "filled", "parked", who, "here", p->here, "at", at, "apart", p->b - p->a,
			      "parks", (json_int_t)all, "moves", p->moves, "late_ns",
			      (json_int_t)p->longest_ns, "empty_ns", (json_int_t)p->ok_ns, "since_ns",
			      (json_int_t)p->since_ns, "ns", (json_int_t)e->ns);
	if (o && names_static(f->pid, &f->maps, e->base + p->a, symbol, sizeof(symbol)))
		json_object_set_new(o, "name", json_string(symbol));
	set_line(out, o);
}

// Of those who stand at one place, the words that moved most often.
static bool is_best(const struct set_filled *f, const struct equal_words *e, const struct equal_pair *p)
{
	for (size_t i = 0; i < f->nseen; i++) {
		const struct equal_words *o = f->seen[i];
		const struct equal_pair *q =
			o != e && o->stack == e->stack && o->who == e->who ? is_such(f, o) : NULL;
		if (q && (q->moves > p->moves || (q->moves == p->moves && o < e)))
			return false;
	}
	return true;
}

void set_filled_write(FILE *out, struct set_filled *f, uint64_t now)
{
	if (!f)
		return;
	if (!proc_stopped(f->pid)) { // else it is as it was
		read_maps(f, now);
		take(f, now);
	}
	for (size_t i = 0; i < f->nseen; i++) {
		const struct equal_pair *p = is_such(f, f->seen[i]);
		if (p && is_best(f, f->seen[i], p))
			write_one(out, f, f->seen[i], p);
	}
}
