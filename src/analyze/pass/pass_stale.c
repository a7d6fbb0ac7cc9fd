// SPDX-License-Identifier: MIT
//
// CTP007, stale registration: a number was closed, but its description lives on (a dup, a child, a
// message in flight), and so does its registration in the epoll set, which nobody can address any more.
// That alone is a fact. It becomes a finding if the loop was woken for the dead generation, or if the
// number was reused and registered again in the same set: then two registrations have one number, and
// EPOLL_CTL_DEL removes only the new one. Not reported if the program itself reads or writes the
// description through another number (those events are wanted), or if the final inspection does not see
// the registration any more.
#include "analyze/case/pass.h"

#include <inttypes.h>

#include "ctp/words.h"

enum { REPEATEDLY = 3 }; // one or two events may come while a dup is being given up

struct stale {
	const struct world *world;
	const struct image *image;
	int32_t fd;
	uint32_t gen;
	int64_t epfd;
	uint64_t desc, owner, closer, closed, events; // events: delivered after the end
	uint32_t closer_stack;
	bool twin;
};

static const struct set_stale *row_of(const struct image *m, int32_t fd)
{
	for (size_t i = 0; i < m->set_looks.nstale; i++)
		if (m->set_looks.stale[i].fd == fd)
			return &m->set_looks.stale[i];
	return NULL;
}

// Does the program use the description under another number?
static bool used_elsewhere(const struct stale *s)
{
	for (size_t i = 0; s->desc && i < s->image->fds.n; i++) {
		const struct ctp_fd *f = table_row(&s->image->fds, i);
		if (f->life == CTP_FD_OPEN && f->desc == s->desc && (f->last_in || f->last_out))
			return true;
	}
	return false;
}

static void decide(struct obligations *o, const struct stale *s, struct results *out)
{
	const struct set_stale *row = row_of(s->image, s->fd);
	bool complete = case_complete(s->world, s->image);
	o->items[PROOF_P0] = case_completeness(complete);
	o->items[PROOF_P3] = (struct obligation){
		row ? HOLDS_TRUE : HOLDS_OPEN,
		row ? results_text(out, "its row is still in epoll fd %" PRId64 ", although fd %d is %s",
				   row->epfd, s->fd,
				   row->twin ? "another file now, registered there too" : "closed") :
		      "the kernel's tables were not inspected"};
	o->verdict = row && s->events >= REPEATEDLY ? VERDICT_LIKELY : VERDICT_SUSPECT;
}

// Of whom it is told: whom the row's data leads to; else, where the number is in use
// again, who waits for that, and is woken in its place; else who closed it. 0: nobody has an id.
static uint64_t subject(const struct stale *s)
{
	const struct ctp_fd *now = s->twin ? image_fd(s->image, s->fd) : NULL;
	const uint64_t ids[] = {s->owner & CTP_FD_UNNAMED ? 0 : s->owner, now ? now->waiter[0] : 0,
				now ? now->leads : 0, now ? now->learned : 0, s->closer};
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		if (ids[i] & CTP_ID_MASK)
			return ids[i] & CTP_ID_MASK;
	return 0;
}

static int report(const struct pass *pass, const struct stale *s, struct results *out)
{
	uint64_t id = subject(s);
	const struct ctp_state *owner = image_entity(s->image, id);
	bool waits = owner && image_suspended(s->image, owner);
	struct verdict_case c = {
		.pass = pass,
		.id = id,
		.fd = s->fd,
		.gen = s->gen,
		.label = waits ? "waiting" : "closed",
		.stack = waits ? owner->stack : s->closer_stack,
		.about = {.world = s->world, .image = s->image, .state = owner},
	};
	const struct ctp_fd *fd = image_fd(s->image, s->fd);
	decide(&c.proof, s, out);
	c.refuted = "the holder of the other descriptor still wants the loop to get its events";
	if (fd && fd->gen == s->gen) {
		c.fd_kind = fd->kind;
		c.opener = (struct case_party){.did = "opened",
					       .call = words_call(fd->opened_how),
					       .id = fd->opener,
					       .ticks = fd->opened,
					       .stack = fd->opener_stack};
	}
	c.doing = results_text(out, "fd %d#%u is closed; its registration in epoll fd %" PRId64 " %s", s->fd,
			       s->gen, s->epfd,
			       s->twin        ? "lives on beside that of the number's next file" :
			       s->events == 1 ? "has delivered an event since" :
						"delivers events");
	c.message = results_text(out, "%s: %" PRIu64 " event%s since the close", c.doing, s->events,
				 s->events == 1 ? "" : "s");
	if (waits)
		c.actor = (struct case_party){
			.did = "closed by", .id = s->closer, .ticks = s->closed, .stack = s->closer_stack};
	case_event(&c, s->closed, s->closer, results_text(out, "closes fd %d#%u", s->fd, s->gen));
	return results_add(out, &c);
}

// The loop was woken for it.
static int woken(const struct pass *pass, const struct world *w, const struct image *m, struct results *out)
{
	int r = 0;
	for (size_t i = 0; !r && i < m->incidents.n; i++) {
		const struct ctp_incident *c = image_incident(m, i);
		const struct set_stale *row = row_of(m, c->fd);
		struct stale s = {
			.world = w,
			.image = m,
			.fd = c->fd,
			.gen = c->gen,
			.epfd = (int64_t)c->value[2],
			.desc = c->value[1],
			.owner = c->who,
			.closer = c->other,
			.closed = c->other_time,
			.events = c->value[0],
			.closer_stack = c->other_stack,
			.twin = row && row->twin,
		};
		if (c->rule == RULE_STALE && !(m->set_looks.looked && !row) && subject(&s) &&
		    !used_elsewhere(&s))
			r = report(pass, &s, out);
	}
	return r;
}

static bool was_woken(const struct image *m, int64_t fd)
{
	for (size_t i = 0; i < m->incidents.n; i++)
		if (image_incident(m, i)->rule == RULE_STALE && image_incident(m, i)->fd == fd)
			return true;
	return false;
}

// The number bears another registration in the same set. *rest: rows that are merely there.
static int reused(const struct pass *pass, const struct world *w, const struct image *m, struct results *out,
		  uint64_t *rest)
{
	int r = 0;
	for (size_t i = 0; !r && i < m->set_looks.nstale; i++) {
		const struct set_stale *row = &m->set_looks.stale[i];
		const struct ctp_fd *fd = image_fd(m, (int32_t)row->fd);
		struct stale s = {
			.world = w,
			.image = m,
			.fd = (int32_t)row->fd,
			.gen = (uint32_t)row->gen,
			.epfd = row->epfd,
			.twin = row->twin,
			.desc = fd ? fd->closed_desc : 0,
		};
		if (was_woken(m, row->fd) && !used_elsewhere(&s))
			continue;
		++*rest;
		if (!row->twin || !fd || fd->closed_gen != row->gen || !fd->closed_owner ||
		    used_elsewhere(&s))
			continue;
		s.owner = fd->closed_owner;
		s.closer = fd->closer;
		s.closed = fd->closed;
		s.closer_stack = fd->closer_stack;
		s.events = fd->stale;
		if (!subject(&s))
			continue;
		--*rest;
		r = report(pass, &s, out);
	}
	return r;
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	uint64_t rest = 0;
	int r = 0;
	for (size_t k = 0; !r && k < w->nimages; k++) {
		const struct image *m = &w->images[k];
		if (!m->has_tables || m->replaced || !w->has_last_tables)
			continue;
		r = woken(pass, w, m, out);
		if (!r)
			r = reused(pass, w, m, out, &rest);
	}
	if (!r && rest)
		r = results_fact(out, pass->rule, rest,
				 "%" PRIu64 " registration%s of closed numbers stay%s alive: a dup, "
				 "a child or a message holds the description",
				 rest, rest == 1 ? "" : "s", rest == 1 ? "s" : "");
	return r;
}

const struct pass pass_stale = {
	.rule = rules_id[RULE_STALE],
	.title = "stale registration",
	.run = run,
	.waits = true,
	.claim = "is still registered for a descriptor that was closed",
	.fix = "epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL) before close(fd), while the number still names it",
	.explain =
		"A descriptor is closed, and its registration lives on: a copy of the descriptor holds it.\n"
		"\n"
		"    keep = dup(fd);                              or fork(), or SCM_RIGHTS\n"
		"    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);\n"
		"    close(fd);                                   the row stays\n"
		"    epoll_wait(ep, ...);                         and delivers ev.data for ever\n"
		"    epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL);      EBADF, or takes another's row\n"
		"\n"
		"A registration belongs to the open file, not to its number. While a dup, a child or a message\n"
		"holds the file open, the registration stays, and its events carry the data of the closed number:\n"
		"a coroutine that has ended, or that now waits for something else.\n"
		"\n"
		"INFO     such registrations exist, and none had an effect\n"
		"SUSPECT  the loop was woken for one, or its number was registered again beside it\n"
		"LIKELY   it delivers events again and again, and is still there\n"
		"\n"
		"Repair: remove the registration before the close.\n"
		"\n"
		"Not reported: an open file that the program still reads or writes by its other number.\n",
};
