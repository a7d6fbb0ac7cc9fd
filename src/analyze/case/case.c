// SPDX-License-Identifier: MIT
//
// Fills a case from the evidence: who, where, for what, and in which order. All passes use
// it, so that no two describe the same thing differently.
#include "analyze/case/pass.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "ctp/late.h"
#include "ctp/words.h"

static bool address(const uint8_t bytes[28], char *buf, size_t room)
{
	char host[INET6_ADDRSTRLEN];
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	memcpy(&v4, bytes, sizeof(v4));
	memcpy(&v6, bytes, sizeof(v6));
	if (v4.sin_family == AF_INET && inet_ntop(AF_INET, &v4.sin_addr, host, sizeof(host)))
		snprintf(buf, room, "%s:%u", host, ntohs(v4.sin_port));
	else if (v4.sin_family == AF_INET6 && inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof(host)))
		snprintf(buf, room, "[%s]:%u", host, ntohs(v6.sin6_port));
	else
		return false;
	return true;
}

// "127.0.0.1:8080 <- 127.0.0.1:51122", or NULL if it is not known. What is open the kernel names best.
static const char *name_of(const struct suspect *s, int32_t fd, uint32_t gen, struct results *f)
{
	const struct ctp_cand *cand = s->cand;
	const char *open = cand ? NULL : descriptors_name(&s->image->descriptors, fd, gen);
	char local[64], peer[64];
	if (open)
		return open;
	if (s->witness && s->witness->fd_name && *s->witness->fd_name)
		return s->witness->fd_name;
	if (!cand || !cand->name_len || !address(cand->local, local, sizeof(local)))
		return NULL;
	if (!address(cand->peer, peer, sizeof(peer)))
		return results_text(f, "%s", local);
	return results_text(f, "%s %s %s", local, cand->was.opened_how == CTP_CALL_ACCEPT ? "<-" : "->",
			    peer);
}

static unsigned kind_of(const struct suspect *s, const struct ctp_fd *fd)
{
	const struct witness *w = s->witness;
	for (unsigned i = 0; w && w->fd_kind && i <= CTP_FD_EPOLL; i++)
		if (!strcmp(words_kind(i), w->fd_kind))
			return i;
	if (s->cand && s->cand->fd_kind)
		return s->cand->fd_kind;
	return fd ? fd->kind : CTP_FD_OTHER;
}

uint64_t case_creator(const struct verdict_case *c)
{
	return c->about.state ? c->about.state->creator : c->maker.id;
}

uint32_t case_creator_stack(const struct verdict_case *c)
{
	return c->about.state ? c->about.state->creator_stack : c->maker.stack;
}

void case_event(struct verdict_case *c, uint64_t ticks, uint64_t id, const char *what)
{
	struct case_event e = {world_ns(c->about.world, ticks), id, what};
	unsigned at = c->nevents;
	if (!ticks || c->nevents == CASE_EVENTS)
		return;
	for (; at && c->events[at - 1].ns > e.ns; at--)
		c->events[at] = c->events[at - 1];
	c->events[at] = e;
	c->nevents++;
}

void case_opener(struct verdict_case *c, const struct ctp_fd *fd, struct results *f)
{
	const char *open = words_call(fd->opened_how);
	c->opener = (struct case_party){.did = "opened",
					.call = open,
					.id = fd->opener,
					.ticks = fd->opened,
					.stack = fd->opener_stack};
	case_event(c, fd->opened, fd->opener,
		   results_text(f, "%s opens fd %d#%u", open ? open : "?", c->fd, c->gen));
}

// What the timeline ends with: the looks, which are no ticks of the trace's.
static void final_inspection(struct verdict_case *c, struct results *f)
{
	const struct suspect *s = &c->about;
	uint64_t ns = s->image->snapshot_ns ? s->image->snapshot_ns : s->world->snapshot_ns;
	uint64_t looked = s->witness ? s->witness->ns : 0;
	if (looked && looked < ns && c->nevents < CASE_EVENTS)
		c->events[c->nevents++] = (struct case_event){
			looked, 0,
			s->witness->turns ?
				results_text(f, "ctp-run inspects it, %" PRIu64 " turn%s of the loop since",
					     s->witness->turns, s->witness->turns == 1 ? "" : "s") :
				"ctp-run inspects it"};
	if (ns && c->nevents < CASE_EVENTS)
		c->events[c->nevents++] = (struct case_event){
			ns, 0,
			results_text(f, "final snapshot: coroutine %" PRIu64 " has not resumed", c->id)};
}

static void add_actor(struct verdict_case *c, const struct ctp_cand *cand, struct results *f)
{
	const char *call = words_call(cand->call);
	if (cand->call == CTP_CALL_REOPENED && (c->about.image->ext.gaps & CTP_GAP_OWN_FDS)) {
		case_event(c, cand->time, cand->closer,
			   results_text(f, "the number %d is given to a new file, of this thread perhaps",
					cand->fd));
		return; // nothing need have been closed
	}
	c->actor = (struct case_party){
		.did = cand->kind == CTP_CAND_DEL ? "removed by" : "closed by",
		.id = cand->closer,
		.call = call && cand->call != CTP_CALL_CLOSE ? call : NULL,
		.ticks = cand->time,
		.stack = cand->closer_stack,
	};
	case_event(c, cand->time, cand->closer, results_text(f, "%s(%d)", call ? call : "close", cand->fd));
}

static uint64_t shot_of(const struct suspect *s)
{
	return s->image->snapshot_ns ? s->image->snapshot_ns : s->world->snapshot_ns;
}

// By so much the time since it suspended is too long at most. 0 where that is less than 2 us, or a hundredth.
static uint64_t late_ns(const struct suspect *s)
{
	uint64_t ticks = ctp_state_latest(s->state), since = world_ns(s->world, s->state->since);
	uint64_t shot = shot_of(s), latest = ticks == UINT64_MAX ? shot : world_ns(s->world, ticks);
	latest = latest < shot ? latest : shot;
	uint64_t late = latest > since ? latest - since : 0;
	return late > 2000 && late > (shot - since) / 100 ? late : 0;
}

uint64_t case_late_ns(const struct verdict_case *c)
{
	const struct ctp_state *s = c->about.state;
	return s && s->life == CTP_SUSPENDED ? late_ns(&c->about) : 0;
}

static const char *waits_for(const struct verdict_case *c, const struct ctp_fd *fd, struct results *f)
{
	const struct suspect *s = &c->about;
	uint64_t since = world_ns(s->world, s->state->since);
	uint64_t shot = shot_of(s), late = late_ns(s);
	char span[80], events[96];
	uint32_t of = s->wait && s->wait->events ? s->wait->events : fd ? fd->reg_events : 0;
	int n = snprintf(span, sizeof(span), "%s", ctp_state_is_from_before(s->state) ? "at least " : "");
	text_duration(span + n, sizeof(span) - (size_t)n, shot > since ? shot - since : 0);
	if (late) { // its switch took no reading of the clock
		char least[32], most[32];
		text_duration(least, sizeof(least), shot - since - late);
		text_duration(most, sizeof(most), shot - since);
		snprintf(span, sizeof(span), "%s to %s", least, most);
	}
	words_events(of, events, sizeof(events));
	return results_text(f, "%s for %s on fd %d#%u (%s%s%s)", span, events, c->fd, c->gen,
			    words_kind(c->fd_kind), c->fd_name ? " " : "", c->fd_name ? c->fd_name : "");
}

void case_of_wait(struct verdict_case *c, const struct pass *pass, const struct suspect *s, struct results *f)
{
	*c = (struct verdict_case){.pass = pass,
				   .about = *s,
				   .id = s->state->id,
				   .stack = image_told_stack(s->image, s->state),
				   .label = "waiting",
				   .fd = s->cand ? s->cand->fd :
					 s->wait ? s->wait->fd :
						   -1,
				   .gen = s->cand ? s->cand->gen :
					  s->wait ? s->wait->gen :
						    0};
	if (!s->cand && !s->wait && s->witness) { // events of it resumed the coroutine before
		c->fd = (int32_t)s->witness->fd;
		c->gen = (uint32_t)s->witness->gen;
	} else if (!s->cand && !s->wait && s->gen) {
		c->fd = s->fd;
		c->gen = s->gen;
	}
	const struct ctp_fd *fd = s->cand ? &s->cand->was : image_fd(s->image, c->fd);
	if (fd && !s->cand && fd->gen != c->gen)
		fd = NULL;
	c->fd_kind = kind_of(s, fd);
	c->fd_name = name_of(s, c->fd, c->gen, f);
	c->doing = waits_for(c, fd, f);
	if (fd)
		case_opener(c, fd, f);
	const char *suspends = ctp_state_is_from_before(s->state) ? "is found suspended" : "suspends";
	case_event(
		c, s->state->since, c->id,
		c->fd < 0 ? suspends : results_text(f, "%s, waiting for fd %d#%u", suspends, c->fd, c->gen));
	if (s->cand)
		add_actor(c, s->cand, f);
	final_inspection(c, f);
}

bool case_complete(const struct world *w, const struct image *m)
{
	return !(m->ext.gaps & OBLIGATIONS_GAPS) && !w->counts.unknown && !w->manifest.nunseen;
}

struct obligation case_completeness(bool complete)
{
	return complete ? (struct obligation){HOLDS_TRUE, "no switch or wait is known to be missed"} :
			  (struct obligation){HOLDS_OPEN, "some switches or tables were not seen"};
}

void case_of_incident(struct verdict_case *c, const struct pass *pass, const struct world *w,
		      const struct image *m, const struct ctp_incident *i, const char *did)
{
	*c = (struct verdict_case){
		.pass = pass,
		.id = i->who,
		.stack = i->stack,
		.label = "happened",
		.fd = i->fd,
		.gen = i->gen,
		.about = {.world = w, .image = m, .state = image_entity(m, i->who)},
	};
	const struct ctp_fd *fd = i->fd < 0 ? NULL : image_fd(m, i->fd);
	c->fd_kind = fd && fd->gen == i->gen ? fd->kind : CTP_FD_OTHER;
	c->fd_name = descriptors_name(&m->descriptors, i->fd, i->gen);
	if (did && (i->other || i->other_stack))
		c->actor = (struct case_party){
			.did = did, .id = i->other, .ticks = i->other_time, .stack = i->other_stack};
	bool complete = case_complete(w, m);
	c->proof.items[PROOF_P0] = case_completeness(complete);
	c->proof.items[PROOF_P1] = (struct obligation){HOLDS_TRUE, "it was seen as it happened"};
}

uint64_t case_suspended_ns(const struct verdict_case *c)
{
	const struct world *w = c->about.world;
	const struct ctp_state *s = c->about.state;
	uint64_t since = s ? world_ns(w, s->since) : 0, shot = c->about.image->snapshot_ns;
	shot = shot ? shot : w->snapshot_ns;
	return s && s->life == CTP_SUSPENDED && shot > since ? shot - since : 0;
}
