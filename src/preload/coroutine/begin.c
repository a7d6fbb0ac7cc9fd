// SPDX-License-Identifier: MIT
//
// A context that is entered for the first time, and that no call was seen to make: it was laid
// out in memory by the program's own code. Its stack begins where the stack pointer stands then:
// nothing above belongs to it. How far down it goes is known if it lies in a mapping of
// the program's that it fills to the top, down to the mapping's begin or a guard page (blocks.c);
// else, or if another coroutine lives there, it is not known (lo = hi), and not guessed. The next that begins
// at the same place has its memory: a small table by that place finds who had it before.
#include "preload/coroutine/begin.h"

#include "preload/coroutine/blocks.h"
#include "preload/coroutine/stack_index.h"
#include "preload/coroutine/station.h"

enum { PLACES = 1 << 16, TRIES = 16 };

static uint32_t *places; // numbers of stations, by a hash of where they began, or are kept

int begin_init(void)
{
	places = memory_take(PLACES * sizeof(*places));
	return places ? 0 : -1;
}

static bool lives(const struct ctp_state *s)
{
	return s && s->entity == CTP_COROUTINE && s->life != CTP_NONE && s->life < CTP_FINISHED;
}

// By what it is found: where its library keeps it, if its stack is copied.
static uint64_t key_of(const struct ctp_state *s)
{
	return s->flags & CTP_STATE_SHARED_STACK ? state_private(s)->copied : s->hi;
}

// Where the number of who has this key stands, or may.
static uint32_t *place_of(uint64_t key, bool *taken)
{
	uint32_t at = (uint32_t)(key * 0x9E3779B97F4A7C15ULL >> 48), *free = NULL;
	for (unsigned i = 0; i < TRIES; i++) {
		uint32_t *p = &places[(at + i) & (PLACES - 1)];
		const struct ctp_state *s = station_at(ctp_load32(p));
		*taken = lives(s) && key_of(s) == key;
		if (*taken)
			return p;
		if (!free && !lives(s))
			free = p;
	}
	return free ? free : &places[at];
}

// Somebody else who lives there and began elsewhere: it is no one's alone, so where it ends is not known.
static void note_neighbour(struct ctp_state *s, void *arg)
{
	uint64_t *hi = arg;
	if (lives(s) && s->hi != *hi)
		*hi = 0;
}

static uint64_t lower_end(uint64_t hi)
{
	uint64_t lo, alone = hi;
	if (!blocks_stack(hi, &lo))
		return hi;
	stack_index_range(lo, hi - 8, true, note_neighbour, &alone);
	return alone ? lo : hi;
}

struct ctp_state *begin_coroutine(struct thread_ctx *g, const struct target *t)
{
	uint64_t hi = t->sp;
	bool taken;
	uint32_t *place = place_of(hi, &taken);
	struct ctp_state *before = taken ? station_at(ctp_load32(place)) : NULL;
	if (before && before != g->current)
		coroutine_superseded(g, before);
	uint64_t lo = lower_end(hi);
	struct ctp_state *s = coroutine_make(g, lo, hi, t->pc, t->slot);
	if (!s)
		return g->native;
	if (lo == hi)
		stack_index_add_begin(s);
	ctp_store32(place, s->station + 1);
	return s;
}

struct ctp_state *begin_find_copied(uint64_t at)
{
	bool taken;
	uint32_t *place = place_of(at, &taken);
	return taken ? station_at(ctp_load32(place)) : NULL;
}

struct ctp_state *begin_copied(struct thread_ctx *g, uint64_t at, uint64_t top, uint32_t function, bool seen)
{
	bool taken;
	uint32_t *place = place_of(at, &taken);
	struct ctp_state *s = coroutine_make(g, top, top, g->regs[CTP_REG_PC], at);
	if (!s)
		return g->native;
	ctp_state_begin(s);
	s->flags |= CTP_STATE_SHARED_STACK | (seen ? 0 : CTP_STATE_FOREIGN);
	s->function = (uint16_t)function;
	state_private(s)->copied = at;
	ctp_state_end(s);
	ctp_store32(place, s->station + 1);
	return s;
}
