// SPDX-License-Identifier: MIT
//
// The program runs on while this is done, and has run since it was looked at from outside. So what the hooks
// have seen of a descriptor, a registration or a stack stands, and what was found says nothing any more. What
// changed unseen before these rows were here (a stack given back), the engine finds by looking again, and
// takes out (ctp_unseed), unless the hooks have seen it since.
//
// No event tells of them: they are older than the history.
#include "preload/process/seed.h"

#include <errno.h>

#include "preload/coroutine/coroutine.h"
#include "preload/coroutine/fcontext.h"
#include "preload/coroutine/stack_index.h"
#include "preload/coroutine/stacks.h"
#include "preload/coroutine/station.h"
#include "preload/fds/fds.h"
#include "preload/guest/modules.h"
#include "preload/guest/real.h"
#include "preload/patch/patch.h"

// Where the hooks look for one that switches by this instance: by its stack pointer, or by where its
// registers were stored. 0: nowhere.
static uint64_t place_of(const struct ctp_seed_coroutine *c, const struct switcher *w)
{
	switch (w->family) {
	case SWITCHER_STRUCT:
		return c->block ? c->block - w->sp_at : 0;
	case SWITCHER_SAVE:
	case SWITCHER_RESTORE:
		return 0;
	default:
		return c->slot;
	}
}

static uint64_t slot_of(const struct ctp_seed_coroutine *c)
{
	const void *fn = (const void *)c->function;
	const struct switcher *w = patch_instance(fn);
	if (w)
		return place_of(c, w);
	bool hooked = !fn || fn == (void *)ctp_load_ptr((void **)&real_jump_fcontext) ||
		      fn == (void *)ctp_load_ptr((void **)&real_ontop_fcontext);
	return hooked ? c->slot : 0;
}

static bool is_known(const struct ctp_seed_coroutine *c, uint64_t slot)
{
	return stack_index_slot(slot) || stack_index_stack(c->regs[CTP_REG_SP]);
}

// A stack that was named, for the next one, as many stand at one place.
struct named {
	const uint64_t *words;
	uint32_t n, stack;
};

// A module is noted before the stack that has an address of it.
static uint32_t stack_of(struct named *last, const uint64_t *words, uint32_t n)
{
	if (last->n == n && !memcmp(last->words, words, n * sizeof(*words)))
		return last->stack;
	for (uint32_t i = 0; i < n; i++)
		modules_note_pc(words[i]);
	*last = (struct named){words, n, n ? stacks_of(words, n) : 0};
	return last->stack;
}

static void coroutine(struct ctp_seed_coroutine *c, uint64_t slot, struct named *last, const uint64_t *words)
{
	uint32_t stack = stack_of(last, words, c->nwords);
	struct ctp_state *s = station_new(CTP_COROUTINE);
	if (!s)
		return;
	ctp_state_begin(s);
	s->flags |= CTP_STATE_FOREIGN | CTP_STATE_SINCE_LATEST;
	s->source = CTP_SOURCE_SEARCH;
	s->life = (uint8_t)c->life;
	s->runs = c->life == CTP_SUSPENDED;
	s->since = ctp_tracer->region.ext->attached;
	s->slot = slot;
	if (slot != c->slot)
		s->how = CTP_HOW_FCONTEXT; // which the hooks go by
	s->lo = c->lo;
	s->hi = c->hi;
	s->entry = c->entry;
	s->stack = stack;
	for (int i = 0; i < CTP_REGS; i++)
		s->regs[i] = c->regs[i];
	ctp_state_end(s);
	coroutine_note_any();
	if (c->function)
		fcontext_any = true;
	if (s->lo < s->hi)
		stack_index_add_stack(s, NULL, NULL);
	else if (s->hi)
		stack_index_add_begin(s);
	stack_index_add_slot(s);
	c->id = s->id;
	c->station = s->station;
}

CTP_HOOK int64_t ctp_seed(struct ctp_seeds *seeds)
{
	int saved = errno;
	struct thread_ctx *g = guest_enter();
	struct named last = {NULL, 0, 0};
	int64_t n = 0;
	if (!g)
		return -EBUSY;
	const struct ctp_seed_fd *fds = ctp_seed_fds(seeds);
	for (uint32_t i = 0; i < seeds->nfds; i++)
		n += fds_found(fds[i].fd, fds[i].kind, fds[i].flags);
	struct ctp_seed_coroutine *all = ctp_seed_coroutines(seeds);
	for (uint32_t i = 0; i < seeds->ncoroutines; i++) {
		struct ctp_seed_coroutine *c = &all[i];
		uint64_t slot = slot_of(c);
		if (!slot || is_known(c, slot))
			continue;
		modules_note_pc(c->entry ? c->entry : c->regs[CTP_REG_PC]);
		coroutine(c, slot, &last, ctp_seed_words(seeds) + c->words);
		g->thread->created += c->id != 0;
	}
	const struct ctp_seed_row *rows = ctp_seed_rows(seeds);
	seeds->time = guest_now();
	for (uint32_t i = 0; i < seeds->nrows; i++) {
		const struct ctp_seed_coroutine *c = rows[i].leads ? &all[rows[i].leads - 1] : NULL;
		fd_waits_found(&rows[i], seeds->time, c && c->id ? station_at(c->station + 1) : NULL);
	}
	guest_leave(g);
	errno = saved;
	return n;
}

// Nobody has seen it run, nor go: it is gone, or nothing leads to it.
static void look_again(struct thread_ctx *g, const struct ctp_seed_coroutine *c)
{
	struct ctp_state *s = station_at(c->station + 1);
	uint64_t seen = s ? ctp_state_seen(s) : 1;
	if ((seen & 1) || s->id != c->id || s->changes || s->life != c->life)
		return;
	if (!c->unreached) {
		coroutine_destroy(g, s, CTP_HOW_RELEASED, seen);
	} else if (ctp_state_take(s, seen)) {
		s->flags |= CTP_STATE_UNREACHED;
		ctp_state_end(s);
	}
}

CTP_HOOK int64_t ctp_unseed(struct ctp_seeds *seeds)
{
	int saved = errno;
	struct thread_ctx *g = guest_enter();
	if (!g)
		return -EBUSY;
	for (uint32_t i = 0; i < seeds->nrows; i++)
		fd_waits_not_found(&ctp_seed_rows(seeds)[i], seeds->time);
	for (uint32_t i = 0; i < seeds->ncoroutines; i++)
		look_again(g, &ctp_seed_coroutines(seeds)[i]);
	guest_leave(g);
	errno = saved;
	return 0;
}
