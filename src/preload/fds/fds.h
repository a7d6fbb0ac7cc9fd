// SPDX-License-Identifier: MIT
//
// fds.h - what hooks report to the table of descriptors. All of it is called between
// hook_enter and guest_leave.
#pragma once

#include <sys/epoll.h>
#include <sys/socket.h>

#include "cpu.h"
#include "ctp/seed.h"
#include "preload/guest/guest.h"

// As guest_enter, but NULL under a version-1 engine too: it has no tables. Where switches share readings of
// the clock, it takes one (clock.h). (fds.c)
struct thread_ctx *hook_enter_slow(void);

// Where nothing stands against it; NULL: hook_enter_slow may know better. Who looks no
// further than at g->fds_max numbers does nothing under a version-1 engine either. Who notes a
// time must come by hook_enter_slow unless g->plain.
static inline __attribute__((always_inline)) struct thread_ctx *hook_try(void)
{
	uint64_t place = cpu_self_place();
	struct thread_ctx *g = cpu_self_at(place);
	if (CTP_UNLIKELY(!g || g->guard != 1))
		return NULL;
	if (CTP_UNLIKELY(!cpu_shut(&g->guard)))
		return NULL;
	if (CTP_UNLIKELY(!cpu_self_is(place, g))) { // preempted since, and now on another thread
		g->opens = 1;
		return NULL;
	}
	g->hook = (uint32_t)(uint64_t)__builtin_frame_address(0);
	return g;
}

// What hook_try gave becomes what hook_enter gives.
static inline __attribute__((always_inline)) struct thread_ctx *hook_enter_from(struct thread_ctx *g)
{
	if (CTP_LIKELY(g && g->plain))
		return g;
	if (g)
		guest_leave(g);
	return hook_enter_slow();
}

static inline __attribute__((always_inline)) struct thread_ctx *hook_enter(void)
{
	return hook_enter_from(hook_try());
}

// ------------------------------------------------------------- the table

// The guest's own words in an entry; nobody else reads them.
enum { FD_ASKED_KIND = 1, FD_ASKED_FLAGS = 2, FD_ASKED_TYPE = 4, FD_MESSAGES = 8 };

// The entry of `fd`; NULL if it is no number that the table has room for.
static inline struct ctp_fd *fds_entry(int fd)
{
	const struct ctp_region *r = &ctp_tracer->region;
	return fd >= 0 && (uint32_t)fd < r->fds_max ? &r->fds[fd] : NULL;
}
// The same by the thread's own copies, where a hook is under way.
static inline struct ctp_fd *fds_entry_by(const struct thread_ctx *g, int fd)
{
	return (uint32_t)fd < g->fds_max ? &g->fds[fd] : NULL;
}
// Takes and gives an entry; a signal handler cannot deadlock on it, as the guard
// is shut. False, and the gap noted, if its holder never lets go.
bool fds_take(struct ctp_fd *e);
void fds_give(struct ctp_fd *e);
// The same in line; g: the calling thread's, or NULL. For fds_abandon it is noted before it is so.
static inline bool fds_try(struct thread_ctx *g, struct ctp_fd *e, uint32_t *seq)
{
	*seq = ctp_load32(&e->seq);
	if (CTP_LIKELY(g != NULL)) {
		g->taken = *seq & 1 ? NULL : e;
		g->taken_seq = *seq + 1;
		ctp_signal_fence();
	}
	return ctp_seq_take(&e->seq, *seq);
}
bool fds_take_held(struct thread_ctx *g, struct ctp_fd *e); // somebody has it
static inline bool fds_take_by(struct thread_ctx *g, struct ctp_fd *e)
{
	uint32_t seq;
	return CTP_LIKELY(fds_try(g, e, &seq)) || fds_take_held(g, e);
}
static inline void fds_give_by(struct thread_ctx *g, struct ctp_fd *e)
{
	ctp_seq_end(&e->seq);
	if (g)
		g->taken = NULL;
}
// Only if nobody has it.
static inline bool fds_take_free(struct thread_ctx *g, struct ctp_fd *e)
{
	uint32_t seq;
	if (CTP_LIKELY(fds_try(g, e, &seq)))
		return true;
	g->taken = NULL;
	return false;
}
void fds_abandon(struct thread_ctx *g); // the hook in which it was taken does not go on
// The generation of a descriptor that is known to be open; one never seen, or
// opened unseen, is discovered here. 0: the table has no room.
uint32_t fds_gen(struct thread_ctx *g, int fd);
// What was open when ctp-run attached. False: a hook knows better, or there is no room.
bool fds_found(int fd, enum ctp_fd_kind kind, uint32_t flags);
// e: its entry, or NULL.
static inline uint32_t fds_gen_in(struct thread_ctx *g, const struct ctp_fd *e, int fd)
{
	return CTP_LIKELY(e && ctp_peek(&e->life) == CTP_FD_OPEN) ? ctp_peek(&e->gen) : fds_gen(g, fd);
}
static inline uint32_t fds_open_gen(struct thread_ctx *g, int fd)
{
	return fds_gen_in(g, fds_entry_by(g, fd), fd);
}

// ------------------------------------------------------ generations begin

// How a descriptor came to be. `since`: as many generations had begun before the call; a younger one is the
// same, reported already by a call inside this one.
struct fd_birth {
	enum ctp_fd_call call;
	enum ctp_fd_kind kind;
	struct frame frame;
	uint64_t since;
	bool nonblock; // it was asked for so
};
static inline uint64_t fds_births(void)
{
	if (CTP_UNLIKELY(!ctp_tracer->attached || ctp_tracer->v1))
		return 0;
	return ctp_load64(&ctp_tracer->region.ext->next_desc);
}
void fds_opened(struct thread_ctx *g, int fd, const struct fd_birth *b);
void fds_opened_pair(struct thread_ctx *g, const int fd[2], const struct fd_birth *b);
void fds_duped(struct thread_ctx *g, int from, int fd, const struct fd_birth *b); // same description
void fds_nonblock(int fd, bool on); // fcntl(F_SETFL) has made it so
bool fds_same(int a, int b);        // do two open numbers have one description?

// -------------------------------------------------------- generations end

// One closing call under way. Told before and after the real call: meanwhile
// another thread may have been given the number again.
struct fd_ends {
	int first, last;
	uint32_t gen;          // the one that ends, if it is a single one
	bool open;             // it was known to be open
	bool listened;         // it, or one of them, is a listener
	uint64_t before;       // a time before the call, if one was asked for; 0
	struct fd_keep *keeps; // those under a waiter
};
// (What nearly every close does: fds_plain.h)
void fds_ending(struct thread_ctx *g, struct fd_ends *x, int first, int last);
void fds_ended(struct thread_ctx *g, struct fd_ends *x, enum ctp_fd_call call, const struct frame *f,
	       bool counts);

// -------------------------------------------- candidates (fd_candidates.c)

// A copy of an entry whose waiters may be left behind, kept in our own memory:
// on the program's stack its words would look like pointers of the program's.
struct fd_keep {
	uint32_t taken;
	bool post;     // its generation did end
	unsigned kind; // enum ctp_cand_kind, if so
	struct fd_keep *next;
	struct ctp_cand cand;
};
void fd_candidates_init(void);
struct fd_keep *fd_candidates_keep(const struct ctp_fd *e,
				   int fd);     // e is taken; NULL: none left, noted. As a CLOSE
void fd_candidates_identify(struct fd_keep *k); // fd still open: device, inode, names
// Posts it, if `kind`, and gives it back.
struct fd_death {
	enum ctp_fd_call call;
	uint64_t time, closer, epoch;
	uint32_t stack;
};
void fd_candidates_post(struct thread_ctx *g, struct fd_keep *k, unsigned kind, const struct fd_death *d);
uint64_t fd_candidates_epoch(void); // raises the epoch: only after the call has returned

// ------------------------------------------- waits (fd_waits.c)

// May a suspended coroutine wait on it? e is taken. Looks whom a registration
// leads to, if that was not known when it was made: the coroutine may be younger.
bool fd_waits_some(struct ctp_fd *e, int fd);
static inline __attribute__((always_inline)) bool fd_waits_never(const struct ctp_fd *e)
{
	return !(e->waiter[0] | e->waiter[1] | e->leads | (e->flags & CTP_FD_MANY)) && e->reg_epfd < 0;
}
static inline bool fd_waits_any(struct ctp_fd *e, int fd)
{
	return CTP_UNLIKELY(!fd_waits_never(e)) && fd_waits_some(e, fd);
}
// It has read from fd, or `nothing`. If it registered that in the same slice, then what it would have waited
// for has come; but the registration leads to it as before, and more may come. At the end nothing can: then
// it waits again when it registers, or once an event is seen to resume it.
void fd_waits_served(struct thread_ctx *g, struct ctp_fd *e, int fd, bool nothing);
// What came there could not be accepted: no descriptor is free (EMFILE).
void fd_waits_full(struct thread_ctx *g, int fd);
// An event came of what e tells of. (fd_ready.c)
void ready_tell(struct thread_ctx *g, const struct ctp_fd *e, uint32_t events, uint64_t now);
static inline __attribute__((always_inline)) void ready_came(struct thread_ctx *g, struct ctp_fd *e,
							     uint32_t events, uint64_t now)
{
	if (e->waiter[0] | e->waiter[1] | e->leads)
		ready_tell(g, e, events, now);
	ctp_store64(&e->event_time, now);
}

// hint, of an entry: whether that coroutine is suspended and waits for fd#gen itself.
bool fd_waits_for(uint64_t hint, int fd, uint32_t gen);

// ------------------------------------------- registrations (fd_registrations.c)

void fd_registrations_made(struct thread_ctx *g, int epfd, int fd, const struct epoll_event *ev,
			   const struct frame *f);
// It could not be modified, as there is none (ENOENT).
void fd_registrations_refused(struct thread_ctx *g, int epfd, int fd, const struct epoll_event *ev);
void fd_registrations_dropped(struct thread_ctx *g, int epfd, int fd, const struct frame *f);
// A registration from before ctp-run attached, which gets this time, and leads to this coroutine (NULL: to
// none); and the same taken back. Not where a hook has seen one.
void fd_waits_found(const struct ctp_seed_row *row, uint64_t time, struct ctp_state *to);
void fd_waits_not_found(const struct ctp_seed_row *row, uint64_t time);
// n events, not 0, came out of epfd: notes them, and what they may teach.
void fd_registrations_harvested(struct thread_ctx *g, int epfd, const struct epoll_event *ev, int n);

// None came.
static inline void fd_waits_none(struct thread_ctx *g)
{
	g->batch_time = 0;
	g->anew_fd = g->batch_fd = -1;
	g->batch = false;
}

// ------------------------------------------- spurious wakeups (fd_spurious.c)

// The guest's own words of a state (bad_resume.h has those before).
void spurious_suspends(struct thread_ctx *g,
		       struct ctp_state *s);    // after EAGAIN; its time and stack are known
void spurious_served(struct ctp_fd *e, int fd); // somebody got something of what several wait for

// ------------------------------------------- what was read instead of whoever waits (fd_taken.c)

// Somebody else than before has read from fd, by f.
void taken_find(struct thread_ctx *g, const struct ctp_fd *e, int fd, const struct frame *f);

// ------------------------------------------- numbers that are no longer what they were (fd_bad.c)

// Between hook_enter and guest_leave, after a call on fd. touched, woken: it was generation
// `was` for which the coroutine had waited. closed, used, registered: the call said EBADF.
void bad_touched(struct thread_ctx *g, int fd, uint32_t was, uint32_t events, const struct frame *f);
void bad_woken(struct thread_ctx *g, const struct ctp_state *s, int fd, uint32_t was);
void bad_delivered(struct thread_ctx *g, const struct ctp_state *s, int fd);
void bad_closed(struct thread_ctx *g, int fd, enum ctp_fd_call call, const struct frame *f);
void bad_used(struct thread_ctx *g, int fd, uint32_t events, const struct frame *f);
void bad_registered(struct thread_ctx *g, int fd, const struct frame *f);

// What fd is, asked of the kernel. (fd_candidates.c)
enum ctp_fd_kind fd_candidates_kind(int fd);

static inline enum ctp_fd_kind fd_socket_kind(int domain, int type)
{
	if (domain == AF_UNIX)
		return CTP_FD_UNIX;
	if (domain != AF_INET && domain != AF_INET6)
		return CTP_FD_OTHER;
	type &= 0xf; // without SOCK_NONBLOCK, SOCK_CLOEXEC
	return type == SOCK_STREAM ? CTP_FD_TCP : type == SOCK_DGRAM ? CTP_FD_UDP : CTP_FD_OTHER;
}
