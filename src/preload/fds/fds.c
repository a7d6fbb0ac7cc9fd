// SPDX-License-Identifier: MIT
//
// The table of descriptors: the generation of each number, who opened it, who ended it. A
// generation begins when a number is handed out (or first discovered) and ends when a closing
// call has ended it. The real call lies between fds_ending and fds_ended. In that time the
// kernel may give the number to another thread, whose opener then finds the entry still open
// but marked `ending`: that end was seen, the next generation begins, and fds_ended, which
// finds another generation than its own, leaves it alone. An open entry without the mark means
// that an end was missed (CTP_CALL_REOPENED).
#include "preload/fds/fds_plain.h"
#include "preload/guest/clock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include "cpu.h"
#include "preload/coroutine/stacks.h"
#include "preload/guest/coredump_advise.h"
#include "preload/guest/emit.h"
#include "preload/guest/exit.h"

enum { SPINS = 500, YIELDS = 500, NAPS = 100 };

__attribute__((noinline)) struct thread_ctx *hook_enter_slow(void)
{
	struct thread_ctx *g = guest_enter();
	if (CTP_UNLIKELY(g && ctp_tracer->v1)) {
		guest_leave(g);
		g = NULL;
	}
	if (g && clock_is_open(g))
		clock_close(g, guest_now());
	return g;
}

void fds_abandon(struct thread_ctx *g)
{
	if (g->taken && ctp_load32(&g->taken->seq) == g->taken_seq)
		ctp_seq_end(&g->taken->seq);
	g->taken = NULL;
}

// A holder that lost its CPU on a crowded machine needs milliseconds: each further try is a nap, by a futex
// that nobody wakes. Once that has not helped, nobody naps again.
static __attribute__((noinline, cold)) bool take_late(struct thread_ctx *g, struct ctp_fd *e)
{
	const struct timespec nap = {.tv_nsec = 1000000};
	uint32_t *gaps = &ctp_tracer->region.ext->gaps, seq;
	for (int i = 0; i < NAPS && !(ctp_load32(gaps) & CTP_GAP_FDS); i++) {
		if (fds_try(g, e, &seq))
			return true;
		if (guest_syscall(SYS_futex, (long)&e->seq, FUTEX_WAIT, seq, (long)&nap, 0, 0) == -ECANCELED)
			break;
	}
	if (g)
		g->taken = NULL;
	ctp_or32(gaps, CTP_GAP_FDS);
	return false;
}

__attribute__((noinline)) bool fds_take_held(struct thread_ctx *g, struct ctp_fd *e)
{
	uint32_t seq;
	for (int i = 0; i < SPINS + YIELDS; i++) {
		if (fds_try(g, e, &seq))
			return true;
		if (i >= SPINS)
			guest_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
	return take_late(g, e);
}

bool fds_take(struct ctp_fd *e)
{
	return fds_take_by(cpu_self(), e);
}

void fds_give(struct ctp_fd *e)
{
	fds_give_by(cpu_self(), e);
}

// ------------------------------------------------------------- generations begin

static __attribute__((noinline)) void higher(uint64_t fd)
{
	uint64_t *max = &ctp_tracer->region.ext->fd_high;
	coredump_advise_grow(COREDUMP_FDS, fd < COREDUMP_FDS_MOST ? fd + 1 : COREDUMP_FDS_MOST);
	for (uint64_t was = ctp_load64(max); was < fd && !ctp_cas64(max, was, fd);)
		was = ctp_load64(max);
}

static inline void high(uint64_t fd)
{
	if (CTP_UNLIKELY(fd > ctp_load64(&ctp_tracer->region.ext->fd_high)))
		higher(fd);
}

// No hook saw it begin.
static const struct fd_birth met = {.call = CTP_CALL_NONE, .kind = CTP_FD_OTHER};

// Whom the entry's registration leads to; 0: it has none.
static uint64_t owner(const struct ctp_fd *e)
{
	uint64_t leads = e->leads & CTP_ID_MASK;
	if (e->reg_epfd < 0)
		return 0;
	return leads ? leads : e->adder ? e->adder : e->reg_by ? e->reg_by : CTP_FD_UNNAMED;
}

// The same of any generation.
static inline __attribute__((always_inline)) void end(struct ctp_fd *e, uint32_t gen,
						      const struct fd_death *d, uint64_t epoch)
{
	if (gen == e->gen) {
		fds_end_present(e, gen, owner(e), d, epoch);
		return;
	}
	e->closed_owner = e->closed_desc = 0;
	fds_note_end(e, gen, d, epoch);
}

// A generation whose end nobody saw.
struct unseen {
	uint32_t gen;
	struct fd_death death;
	struct fd_keep *keep;
};

// The number was handed out although nobody ended it: ends it now. e is taken. (Where a thread has
// descriptors of its own, that is no sign of an end: another table has the number, too.)
static __attribute__((noinline, cold)) void end_unseen(struct unseen *u, struct ctp_fd *e, int fd,
						       uint64_t now)
{
	bool parted = ctp_load32(&ctp_tracer->region.ext->gaps) & CTP_GAP_OWN_FDS;
	struct fd_keep *k = !parted && fd_waits_any(e, fd) ? fd_candidates_keep(e, fd) : NULL;
	*u = (struct unseen){e->gen, {.call = CTP_CALL_REOPENED, .time = now}, k};
	if (k)
		u->death.epoch = fd_candidates_epoch();
	end(e, e->gen, &u->death, u->death.epoch);
}

static __attribute__((noinline, cold)) void tell_unseen(struct thread_ctx *g, struct unseen *u, int fd)
{
	fds_emit(g, CTP_EV_FD_CLOSE, &u->death, fd, u->gen);
	if (u->keep)
		fd_candidates_post(g, u->keep, CTP_CAND_CLOSE, &u->death);
}

// Once more, of the generation that e, taken, is in: a call inside this one has told of it.
static void retell(struct ctp_fd *e, const struct fd_birth *b, uint64_t who, uint32_t stack)
{
	e->opened_how = b->call;
	ctp_poke(&e->kind, b->kind);
	e->opener = who;
	e->opener_stack = stack;
	if (b->nonblock)
		ctp_poke(&e->flags, e->flags | CTP_FD_NONBLOCK);
}

// e, taken, is a duplicate of `like`.
static void twin(struct ctp_fd *e, const struct ctp_fd *like)
{
	ctp_poke(&e->kind, ctp_peek(&like->kind));
	ctp_poke(&e->desc, ctp_peek(&like->desc));
	e->peer_desc = like->peer_desc;
	ctp_poke(&e->flags,
		 e->flags | (ctp_peek(&like->flags) & (CTP_FD_LISTENS | CTP_FD_ROWS | CTP_FD_NONBLOCK)));
}

// Begins a generation; `like`: what it is a duplicate of, or NULL. Returns its desc, 0 if nothing was done.
static __attribute__((noinline)) uint64_t begin(struct thread_ctx *g, int fd, const struct fd_birth *b,
						const struct ctp_fd *like)
{
	struct ctp_fd *e = fds_entry(fd);
	if (!e) {
		ctp_or32(&ctp_tracer->region.ext->gaps, CTP_GAP_FDS);
		return 0;
	}
	uint32_t stack = guest_stack(g, &b->frame);
	uint64_t who = guest_who(g);
	struct unseen unseen;
	high((uint64_t)fd);
	if (!fds_take_by(g, e))
		return 0;
	uint64_t now = emit_now(); // who ended the last generation has read the clock by now
	bool open = e->life == CTP_FD_OPEN && !fds_marked(e);
	bool told = open && fd_private(e)->birth > b->since &&
		    (e->opener == who || e->opened_how == CTP_CALL_NONE);
	bool missed = open && !told;
	if (CTP_UNLIKELY(missed))
		end_unseen(&unseen, e, fd, now);
	if (told) {
		retell(e, b, who, stack);
	} else {
		if (fds_batch_has(g, e)) {
			g->anew_fd = fd;
			g->anew_gen = e->gen + 1;
		}
		fds_renew(e, now, b, who, stack);
	}
	if (like)
		twin(e, like);
	uint64_t desc = e->desc;
	uint32_t gen = e->gen;
	fds_give_by(g, e);
	if (CTP_UNLIKELY(missed))
		tell_unseen(g, &unseen, fd);
	if (!told)
		fds_emit(g, CTP_EV_FD_OPEN,
			 &(struct fd_death){.call = b->call, .closer = who, .stack = stack, .time = now}, fd,
			 gen);
	return desc;
}

static void peer(int fd, uint64_t own, uint64_t other)
{
	struct ctp_fd *e = fds_entry(fd);
	if (!own || !fds_take(e))
		return;
	if (e->desc == own)
		e->peer_desc = other;
	fds_give(e);
}

void fds_opened(struct thread_ctx *g, int fd, const struct fd_birth *b)
{
	if (CTP_UNLIKELY(!fds_opened_plainly(g, fd, b)))
		begin(g, fd, b, NULL);
}

void fds_opened_pair(struct thread_ctx *g, const int fd[2], const struct fd_birth *b)
{
	uint64_t one = begin(g, fd[0], b, NULL), other = begin(g, fd[1], b, NULL);
	peer(fd[0], one, other);
	peer(fd[1], other, one);
}

// A connection's numbers are a reader's and a writer's; of all else, whoever waits may take what comes.
static void mark_duped(struct ctp_fd *e)
{
	enum ctp_fd_kind kind = ctp_peek(&e->kind);
	uint32_t flags = ctp_peek(&e->flags);
	bool stream = kind == CTP_FD_TCP || kind == CTP_FD_UNIX || kind == CTP_FD_FILE;
	if ((flags & CTP_FD_DUPED) || (stream && !(flags & CTP_FD_LISTENS)) || !fds_take(e))
		return;
	ctp_poke(&e->flags, e->flags | CTP_FD_DUPED);
	fds_give(e);
}

void fds_duped(struct thread_ctx *g, int from, int fd, const struct fd_birth *b)
{
	struct ctp_fd *like = fds_gen(g, from) ? fds_entry(from) : NULL;
	if (!begin(g, fd, b, like) || !like)
		return;
	mark_duped(like);
	mark_duped(fds_entry(fd));
}

static void nonblock(int fd, uint64_t desc, bool on)
{
	struct ctp_fd *e = fds_entry(fd);
	if (!e || ctp_peek(&e->life) != CTP_FD_OPEN || ctp_peek(&e->desc) != desc ||
	    !(ctp_peek(&e->flags) & CTP_FD_NONBLOCK) == !on || !fds_take(e))
		return;
	if (e->desc == desc)
		ctp_poke(&e->flags, e->flags ^ CTP_FD_NONBLOCK);
	fds_give(e);
}

void fds_nonblock(int fd, bool on)
{
	const struct ctp_fd *e = fds_entry(fd);
	uint64_t high = on ? 0 : ctp_load64(&ctp_tracer->region.ext->fd_high),
		 desc = e ? ctp_peek(&e->desc) : 0;
	enum ctp_fd_kind kind = e ? ctp_peek(&e->kind) : CTP_FD_OTHER;
	if (desc && (!on || (kind != CTP_FD_OTHER && kind != CTP_FD_FILE))) // a file blocks all the same
		nonblock(fd, desc, on);
	for (uint64_t i = 0; desc && !on && i <= high;
	     i++) // that it blocks must be known of its duplicates, too
		nonblock((int)i, desc, on);
}

bool fds_same(int a, int b)
{
	const struct ctp_fd *x = fds_entry(a), *y = fds_entry(b);
	return x && y && ctp_peek(&x->life) == CTP_FD_OPEN && ctp_peek(&y->life) == CTP_FD_OPEN &&
	       ctp_peek(&x->desc) == ctp_peek(&y->desc);
}

uint32_t fds_gen(struct thread_ctx *g, int fd)
{
	struct ctp_fd *e = fds_entry(fd);
	if (CTP_LIKELY(e && ctp_peek(&e->life) == CTP_FD_OPEN))
		return ctp_peek(&e->gen);
	if (!e || !fds_take(e)) {
		ctp_or32(&ctp_tracer->region.ext->gaps, CTP_GAP_FDS);
		return 0;
	}
	bool new = e->life != CTP_FD_OPEN;
	struct fd_death d = {.call = CTP_CALL_NONE, .time = new ? guest_now() : 0};
	if (new)
		fds_renew(e, d.time, &met, 0, 0);
	uint32_t gen = e->gen;
	fds_give(e);
	high((uint64_t)fd);
	if (new)
		fds_emit(g, CTP_EV_FD_OPEN, &d, fd, gen);
	return gen;
}

bool fds_found(int fd, enum ctp_fd_kind kind, uint32_t flags)
{
	struct ctp_fd *e = fds_entry(fd);
	if (!e || e->gen || !fds_take(e))
		return false;
	bool fresh = !e->gen; // else a hook has seen it
	if (fresh) {
		fds_renew(e, ctp_tracer->region.ext->attached, &met, 0, 0);
		ctp_poke(&e->kind, kind);
		ctp_poke(&e->flags, flags);
	}
	fds_give(e);
	high((uint64_t)fd);
	return fresh;
}

// ------------------------------------------------------------- generations end

static inline __attribute__((always_inline)) void ending_one(struct thread_ctx *g, struct fd_ends *x, int fd)
{
	struct fd_keep *k = NULL;
	struct ctp_fd *e = fds_entry(fd);
	if (!e || !fds_take_by(g, e))
		return;
	x->gen = e->gen;
	x->open = e->life == CTP_FD_OPEN;
	if (!x->open && !x->before)
		x->before = guest_now();
	if (x->open) {
		fds_mark(e);
		x->listened |= e->flags & CTP_FD_LISTENS;
		bool waited = fd_waits_any(e, fd);
		if (waited || (e->flags & CTP_FD_ROWS)) // who waits through a set, the engine finds
			k = fd_candidates_keep(e, fd);
		if (k && !waited)
			k->kind = CTP_CAND_SET;
	}
	fds_give_by(g, e);
	if (!k)
		return;
	if (!x->before)
		x->before = guest_now();
	k->cand.before = x->before;
	k->next = x->keeps;
	x->keeps = k;
	fd_candidates_identify(k);
}

void fds_ending(struct thread_ctx *g, struct fd_ends *x, int first, int last)
{
	int max = (int)ctp_tracer->region.fds_max - 1;
	*x = (struct fd_ends){.first = first, .last = last < max ? last : max};
	if (CTP_LIKELY(first == x->last))
		ending_one(g, x, first);
	else
		for (int fd = first; fd <= x->last; fd++)
			ending_one(g, x, fd);
}

static struct fd_keep *kept(const struct fd_ends *x, int fd)
{
	struct fd_keep *k = x->keeps;
	while (k && k->cand.fd != fd)
		k = k->next;
	return k;
}

// Whether a generation ends here, by this call, and which. e is taken.
static inline __attribute__((always_inline)) bool ends_here(struct ctp_fd *e, const struct fd_ends *x,
							    bool one, bool marked, uint32_t *gen)
{
	if (*gen != e->gen) // the number has been handed out again meanwhile
		return (x->open || !one) && e->closed_gen != *gen;
	if (!one)
		return marked && e->life == CTP_FD_OPEN;
	if (x->open)
		return e->life == CTP_FD_OPEN; // else a call inside this one has ended it
	fds_renew(e, x->before, &met, 0, 0);   // opened unseen, discovered as it ends
	*gen = e->gen;
	return true;
}

// Generation `gen` ends. Waiters may have come while the call was under way. e is taken.
static inline __attribute__((always_inline)) void end_kept(struct fd_ends *x, struct ctp_fd *e, int fd,
							   uint32_t gen, struct fd_death *d)
{
	struct fd_keep *k = kept(x, fd);
	if (!k && gen == e->gen && fd_waits_any(e, fd) && (k = fd_candidates_keep(e, fd))) {
		k->cand.before = x->before ? x->before : d->time;
		k->next = x->keeps;
		x->keeps = k;
	}
	if (k) {
		k->post = true;
		if (!d->epoch)
			d->epoch = fd_candidates_epoch();
	}
	if (gen == e->gen || e->closed_gen < gen)
		end(e, gen, d, k ? d->epoch : 0);
}

// `one`: the only number of its call.
static inline __attribute__((always_inline)) void ended_one(struct thread_ctx *g, struct fd_ends *x, int fd,
							    struct fd_death *d, bool counts, bool one)
{
	struct ctp_fd *e = fds_entry(fd);
	if (!e || !fds_take_by(g, e))
		return;
	bool marked = fds_marked(e);
	const struct fd_keep *k = one ? NULL : kept(x, fd);
	uint32_t gen = one ? x->gen : k ? k->cand.gen : e->gen;
	if (gen == e->gen && (x->open || !one))
		fds_unmark(e);
	bool ends = counts && ends_here(e, x, one, marked, &gen);
	if (ends)
		end_kept(x, e, fd, gen, d);
	fds_give_by(g, e);
	if (!ends)
		return;
	high((uint64_t)fd);
	fds_emit(g, CTP_EV_FD_CLOSE, d, fd, gen);
}

void fds_ended(struct thread_ctx *g, struct fd_ends *x, enum ctp_fd_call call, const struct frame *f,
	       bool counts)
{
	struct fd_death d = {.call = call, .closer = guest_who(g), .time = emit_now()};
	g->ended_time = d.time;
	d.stack = counts ? guest_stack(g, f) : 0;
	if (counts && x->listened && tracer_has_coroutines()) // else there is none to drain
		ctp_cas64(&ctp_tracer->region.ext->listener_closed, 0, d.time);
	if (CTP_LIKELY(x->first == x->last))
		ended_one(g, x, x->first, &d, counts, true);
	else
		for (int fd = x->first; fd <= x->last; fd++)
			ended_one(g, x, fd, &d, counts, false);
	for (struct fd_keep *k = x->keeps, *next; k; k = next) {
		next = k->next;
		fd_candidates_post(g, k, k->post ? k->kind : 0, &d);
	}
	x->keeps = NULL;
}
