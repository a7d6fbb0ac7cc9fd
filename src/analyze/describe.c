// SPDX-License-Identifier: MIT
//
// The parts of a finding in words, shared by all formats, so that no two of
// them tell the same thing differently.
#include "analyze/describe.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "ctp/words.h"

const char *describe_kind(const struct verdict_case *c)
{
	const struct witness *w = c->about.witness;
	for (unsigned i = 0; w && w->fd_kind && i <= CTP_FD_EPOLL; i++)
		if (!strcmp(words_kind(i), w->fd_kind))
			return words_kind(i);
	return words_kind(c->about.cand->fd_kind ? c->about.cand->fd_kind : c->about.cand->was.kind);
}

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

bool describe_name(const struct verdict_case *c, char *buf, size_t bytes)
{
	const struct ctp_cand *cand = c->about.cand;
	char local[64], peer[64];
	if (c->about.witness && c->about.witness->fd_name && *c->about.witness->fd_name)
		snprintf(buf, bytes, "%s", c->about.witness->fd_name);
	else if (!cand->name_len || !address(cand->local, local, sizeof(local)))
		return false;
	else if (address(cand->peer, peer, sizeof(peer)))
		snprintf(buf, bytes, "%s %s %s", local,
			 cand->was.opened_how == CTP_CALL_ACCEPT ? "<-" : "->", peer);
	else
		snprintf(buf, bytes, "%s", local);
	return true;
}

const char *describe_call(unsigned call)
{
	static const char *const names[] = {
		[CTP_CALL_NONE] = NULL, [CTP_CALL_OPEN] = "open", [CTP_CALL_SOCKET] = "socket",
		[CTP_CALL_SOCKETPAIR] = "socketpair", [CTP_CALL_ACCEPT] = "accept",
		[CTP_CALL_PIPE] = "pipe", [CTP_CALL_EVENTFD] = "eventfd",
		[CTP_CALL_TIMERFD] = "timerfd_create", [CTP_CALL_SIGNALFD] = "signalfd",
		[CTP_CALL_EPOLL_CREATE] = "epoll_create", [CTP_CALL_DUP] = "dup",
		[CTP_CALL_DUP2] = "dup2", [CTP_CALL_DUP3] = "dup3", [CTP_CALL_FCNTL] = "fcntl",
		[CTP_CALL_FOPEN] = "fopen", [CTP_CALL_OPENDIR] = "opendir", [CTP_CALL_CLOSE] = "close",
		[CTP_CALL_CLOSE_RANGE] = "close_range", [CTP_CALL_CLOSEFROM] = "closefrom",
		[CTP_CALL_FCLOSE] = "fclose", [CTP_CALL_CLOSEDIR] = "closedir",
		[CTP_CALL_PCLOSE] = "pclose", [CTP_CALL_REOPENED] = "an unseen close",
		[CTP_CALL_EPOLL_DEL] = "EPOLL_CTL_DEL", [CTP_CALL_RECVMSG] = "recvmsg",
		[CTP_CALL_POPEN] = "popen",
	};
	return call < sizeof(names) / sizeof(*names) ? names[call] : NULL;
}

uint64_t describe_suspended_ns(const struct verdict_case *c)
{
	const struct world *w = c->about.world;
	uint64_t since = world_ns(w, c->about.state->since), shot = c->about.image->snapshot_ns;
	shot = shot ? shot : w->snapshot_ns;
	return shot > since ? shot - since : 0;
}

static void add(const struct verdict_case *c, struct timeline_entry *out, unsigned *n, uint64_t ns,
		uint64_t who)
{
	uint64_t start = c->about.world->start_ns;
	out[*n].t_ns = ns > start ? ns - start : 0;
	out[*n].coroutine = who;
	if (*n && out[*n].t_ns < out[*n - 1].t_ns) { // earlier than the one before: they change places
		struct timeline_entry late = out[*n - 1];
		out[*n - 1] = out[*n];
		out[*n] = late;
	}
	++*n;
}

unsigned describe_timeline(const struct verdict_case *c, struct timeline_entry *out)
{
	const struct suspect *s = &c->about;
	const struct ctp_cand *cand = s->cand;
	uint64_t opened = world_ns(s->world, cand->was.opened);
	const char *open = describe_call(cand->was.opened_how), *call = describe_call(cand->call);
	unsigned n = 0;
	if (opened) {
		snprintf(out[n].what, sizeof(out[n].what), "%s opens fd %d#%u", open ? open : "?",
			 cand->fd, cand->gen);
		add(c, out, &n, opened, cand->was.opener);
	}
	snprintf(out[n].what, sizeof(out[n].what), "suspends, waiting for fd %d#%u", cand->fd, cand->gen);
	add(c, out, &n, world_ns(s->world, s->state->since), s->state->id);
	snprintf(out[n].what, sizeof(out[n].what), "%s(%d)", call ? call : "close", cand->fd);
	add(c, out, &n, world_ns(s->world, cand->time), cand->closer);
	if (s->witness && s->witness->turns)
		snprintf(out[n].what, sizeof(out[n].what), "last look: %" PRIu64 " turns since, coroutine %"
			 PRIu64 " never resumed", s->witness->turns, s->state->id);
	else
		snprintf(out[n].what, sizeof(out[n].what), "last look: coroutine %" PRIu64
			 " never resumed", s->state->id);
	add(c, out, &n, s->image->snapshot_ns ? s->image->snapshot_ns : s->world->snapshot_ns, 0);
	return n;
}

void describe_refuted(const struct verdict_case *c, char *buf, size_t bytes)
{
	uint64_t id = c->about.state->id;
	const char *closure = c->proof.closure;
	if (c->proof.verdict == VERDICT_INCONCLUSIVE)
		snprintf(buf, bytes, "a longer or complete trace shows coroutine %" PRIu64 " resumed", id);
	else if (c->proof.verdict != VERDICT_PROVEN)
		snprintf(buf, bytes, "the program's own code resumes coroutine %" PRIu64, id);
	else if (closure && !strcmp(closure, "quiet"))
		snprintf(buf, bytes, "coroutine %" PRIu64 " was discarded on purpose, or a pointer to it "
			 "lies outside the process", id);
	else
		snprintf(buf, bytes, "a pointer to coroutine %" PRIu64 " lies outside the process or in "
			 "disguise", id);
}

void describe_message(const struct report *r, const struct finding *f, char *buf, size_t bytes)
{
	const struct verdict_case *c = f->cases[0];
	char who[200], closer[200], name[128], where[32];
	bool named = describe_name(c, name, sizeof(name));
	report_who(r, c->about.image, c->about.state->id, who, sizeof(who));
	report_who(r, c->about.image, c->about.cand->closer, closer, sizeof(closer));
	snprintf(buf, bytes, "%s%s %s: it waits for fd %d#%u (%s%s%s), which %s %s", who,
		 report_where(r, c->about.image, where, sizeof(where)), f->pass->claim,
		 c->about.cand->fd, c->about.cand->gen, describe_kind(c), named ? " " : "",
		 named ? name : "", closer,
		 c->about.cand->kind == CTP_CAND_DEL ? "took out of the epoll set" : "closed");
}
