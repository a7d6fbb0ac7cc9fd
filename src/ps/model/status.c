// SPDX-License-Identifier: MIT
//
// Which suspended coroutines are ready, and which are pooled, as far as that is known; all
// others wait.
//
// Ready: an event that the coroutine waits for was taken after it was suspended, and some
// thread that runs coroutines has not slept in its loop since: the coroutine's turn may still
// come. Once all of these threads have slept, the event was for another one or was lost, and
// the coroutine waits.
//
// Pooled: the coroutine waits for nothing that is known, and is suspended in the function in
// which its library runs one task after the other, outside any task, with nothing but
// switching functions above it on the stack. Functions are compared by name, or by where the
// unwind tables say that they begin; without either, no coroutine is called pooled.
#include "ps/model/status.h"

#include <errno.h>
#include <stdlib.h>

#include "base/idmap.h"
#include "symbols/trampoline.h"

enum { RESUMED_MOST = 1024, STACKS_MOST = 2048, SITES_AT_ONCE = 4096 };

// ----------------------------------------------------------------- ready

static bool references(const struct ctp_fd *f, const struct coroutine_wait *w, uint64_t id)
{
	uint64_t leads = f->leads & CTP_ID_MASK, in = f->waiter[0] & CTP_ID_MASK,
		 out = f->waiter[1] & CTP_ID_MASK;
	if ((f->flags & CTP_FD_MANY) || (in && in != id) || (out && out != id))
		return false; // somebody else waits for it, too: whose event it was is not known
	return leads ? leads == id : f->learned ? f->learned == id : w->how & CTP_WAIT_REGISTERED;
}

// Might a coroutine still be resumed for what was taken at `time`, before its thread sleeps?
static bool turn_may_come(const struct tables *t, uint64_t time)
{
	for (size_t i = 0; i < t->nthreads; i++) {
		const struct tables_thread *th = &t->threads[i];
		bool loop = th->wait_call == CTP_IN_EPOLL || th->wait_call == CTP_IN_POLL ||
			    th->wait_call == CTP_IN_SELECT;
		if (th->switches && !(th->waits && loop && th->wait_timeout_ns != 0 && th->wait_since > time))
			return true;
	}
	return false;
}

static bool is_ready(const struct report *r, const struct coroutine *c)
{
	for (unsigned i = 0; i < c->nwaits; i++) {
		const struct coroutine_wait *w = &c->waits[i];
		const struct ctp_fd *f = fds_row(r->fds, w->fd);
		if (f && f->gen == w->gen && f->life == CTP_FD_OPEN && f->event_time > c->since &&
		    references(f, w, c->id) && turn_may_come(&r->tables, f->event_time))
			return true;
	}
	return false;
}

// ----------------------------------------------------------------- pooled

// Stacks from which somebody went on, or in which somebody stands.
struct resumed {
	struct trampoline_stack *v;
	uint32_t *numbers; // of the stacks
	size_t n;
	struct idmap seen;
	struct trampoline_stack *some; // room for n
};

static void resumed_deinit(struct resumed *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->v[i].v);
	free(p->v);
	free(p->some);
	free(p->numbers);
	idmap_deinit(&p->seen);
}

static int own_frames(const struct report *r, uint32_t number, struct trampoline_stack *out)
{
	struct frames f;
	int e = report_frames(r, number, &f);
	if (!e)
		e = trampoline_read(out, &f);
	frames_deinit(&f);
	return e;
}

static int add_stack(struct resumed *p, const struct report *r, uint32_t id)
{
	uint32_t number = 0;
	int e = p->n < STACKS_MOST ? stacks_recorded(r->stacks, id, &number) : 0;
	if (e || !number || idmap_get(&p->seen, number) != IDMAP_NONE)
		return e;
	e = idmap_set(&p->seen, number, 0);
	if (!e)
		e = own_frames(r, number, &p->v[p->n]);
	if (!e)
		p->numbers[p->n++] = number;
	return e;
}

static int resumed_read(struct resumed *p, const struct report *r)
{
	const struct ctp_ext *x = &r->found->header.ext;
	uint64_t n = x->stack_count < x->stacks_max ? x->stack_count + 1ULL : x->stacks_max;
	struct ctp_site *sites = malloc(SITES_AT_ONCE * sizeof(*sites));
	p->v = calloc(STACKS_MOST, sizeof(*p->v));
	p->some = calloc(STACKS_MOST, sizeof(*p->some));
	p->numbers = calloc(STACKS_MOST, sizeof(*p->numbers));
	int e = sites && p->v && p->some && p->numbers ? 0 : -ENOMEM;
	for (uint64_t at = 0; !e && at < n && p->n < RESUMED_MOST; at += SITES_AT_ONCE) {
		uint64_t some = n - at < SITES_AT_ONCE ? n - at : SITES_AT_ONCE;
		e = source_read(&r->found->region, x->sites_off + at * sizeof(*sites), sites,
				some * sizeof(*sites));
		for (uint64_t i = at == 0; !e && i < some && p->n < RESUMED_MOST; i++)
			if (sites[i].resumed)
				e = add_stack(p, r, (uint32_t)(at + i));
	}
	for (size_t i = 0; !e && i < r->tables.n; i++)
		if (r->tables.coroutines[i].life == CTP_SUSPENDED)
			e = add_stack(p, r, r->tables.coroutines[i].recorded);
	free(sites);
	return e;
}

// Is what stands with this stack between two functions that its library runs?
static bool between(struct resumed *p, const struct trampoline_stack *s, uint32_t number)
{
	size_t n = 0;
	for (size_t i = 0; i < p->n; i++)
		if (p->numbers[i] != number && p->v[i].n && p->v[i].known &&
		    trampoline_same(p->v[i].v[0], s->v[0]))
			p->some[n++] = p->v[i];
	size_t at = n ? trampoline_alike(s, p->some, n) : 0;
	for (size_t i = 0; at && i < n; i++)
		if (p->some[i].v[at - 1]->pc == s->v[at - 1]->pc)
			return false; // where the others run as well
	return at && trampoline_runs(p->some, n, at - 1) && trampoline_switches(s, at, p->some, n);
}

static int decide_pooled(const struct report *r, struct resumed *p, struct idmap *known,
			 const struct coroutine *c, bool *pooled)
{
	uint32_t is = idmap_get(known, c->stack);
	struct trampoline_stack s = {0};
	int e = 0;
	if (is == IDMAP_NONE) {
		if (!p->v)
			e = resumed_read(p, r);
		if (!e)
			e = own_frames(r, c->stack, &s);
		is = !e && s.n && s.known && between(p, &s, c->stack);
		if (!e)
			e = idmap_set(known, c->stack, is);
		free(s.v);
	}
	*pooled = !e && is;
	return e;
}

int status_decide(struct report *r)
{
	struct idmap known = {0}; // by stack
	struct resumed resumed = {0};
	int e = 0;
	for (size_t i = 0; !e && i < r->tables.n; i++) {
		struct coroutine *c = &r->tables.coroutines[i];
		bool pooled = false;
		if (c->life != CTP_SUSPENDED || (c->flags & CTP_STATE_MOREWAITS))
			continue;
		if (!c->nwaits && c->stack)
			e = decide_pooled(r, &resumed, &known, c, &pooled);
		c->status = pooled ? STATUS_POOLED : is_ready(r, c) ? STATUS_READY : STATUS_WAITS;
		r->tables.ready += c->status == STATUS_READY;
		r->tables.pooled += pooled;
	}
	idmap_deinit(&known);
	resumed_deinit(&resumed);
	return e;
}
