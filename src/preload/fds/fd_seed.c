// SPDX-License-Identifier: MIT
//
// Registrations from before ctp-run attached: the kernel shows them, but not who made them, nor when. So
// `reg_by` is nobody, and the coroutine that one references is found by its data, as for any other. A hook
// that sees the number registered again writes its own time: then what was found here is the older one.
#include "preload/fds/fd_map.h"

// Did it exist before the attach? No hook saw it begin, though hooks may have seen it used since.
static bool is_as_found(const struct ctp_fd *e)
{
	return ctp_peek(&e->life) == CTP_FD_OPEN && ctp_peek(&e->gen) == 1 && e->opened_how == CTP_CALL_NONE;
}

static void has_rows(struct ctp_fd *set)
{
	if ((ctp_peek(&set->flags) & CTP_FD_ROWS) || !fds_take(set))
		return;
	if (is_as_found(set))
		ctp_poke(&set->flags, set->flags | CTP_FD_ROWS);
	fds_give(set);
}

// It stands where it armed that one-shot: it waits for it. Of a registration that stays, that is not known.
static void wait_for(struct ctp_state *s, const struct ctp_seed_row *row)
{
	uint64_t seen = ctp_state_seen(s);
	if ((seen & 1) || s->changes || s->life != CTP_SUSPENDED || s->nwaits == CTP_WAITS ||
	    !ctp_state_take(s, seen))
		return;
	s->waits[s->nwaits] = (struct ctp_wait){.fd = row->fd,
						.gen = 1,
						.events = row->events,
						.how = CTP_WAIT_REGISTERED,
						.data = row->data,
						.epfd = row->epfd,
						.epgen = 1};
	s->nwaits++;
	ctp_state_end(s);
}

static bool is_armed(const struct ctp_seed_row *row)
{
	uint32_t held = EPOLLONESHOT | EPOLLET | EPOLLWAKEUP | EPOLLEXCLUSIVE | EPOLLERR | EPOLLHUP;
	return (row->events & EPOLLONESHOT) && (row->events & ~held);
}

// The entry is taken.
static void point_to(struct ctp_fd *e, const struct ctp_seed_row *row, const struct ctp_state *to)
{
	uint64_t hint = (uint64_t)to->station << CTP_ID_BITS | to->id;
	e->leads = hint;
	if (!is_armed(row))
		return;
	if (row->events & (EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND))
		e->waiter[1] = hint;
	else
		e->waiter[0] = hint;
	e->learned_stack = to->stack;
}

void fd_waits_found(const struct ctp_seed_row *row, uint64_t time, struct ctp_state *to)
{
	struct ctp_fd *e = fds_entry(row->fd), *set = fds_entry(row->epfd);
	if (!e || !set || !is_as_found(e) || !is_as_found(set) || !fds_take(e))
		return;
	bool several = e->reg_epfd >= 0 && e->reg_time == time, fresh = !e->reg_time && is_as_found(e);
	if (several) {
		ctp_poke(&e->flags, e->flags | CTP_FD_MANYREGS);
	} else if (fresh) {
		ctp_poke(&e->reg_epfd, row->epfd);
		e->reg_epgen = 1;
		e->reg_events = row->events;
		ctp_poke(&e->reg_data, row->data);
		e->reg_time = time;
		if (to && !(to->flags & CTP_STATE_PRIVATE))
			point_to(e, row, to);
	}
	fds_give(e);
	if (fresh && to && is_armed(row))
		wait_for(to, row);
	if (several || fresh)
		fd_map_add(row->epfd, row->data, row->fd, 1);
	has_rows(set);
}

void fd_waits_not_found(const struct ctp_seed_row *row, uint64_t time)
{
	struct ctp_fd *e = fds_entry(row->fd);
	if (!e || !is_as_found(e) || !fds_take(e))
		return;
	if (e->reg_time == time && e->reg_epfd == row->epfd && e->reg_data == row->data) {
		ctp_poke(&e->reg_epfd, -1);
		e->reg_events = 0;
	}
	fds_give(e);
}
