// SPDX-License-Identifier: MIT
//
// The sentences about a finding. All formats share them, so that no two describe the same thing
// differently.
#include "analyze/report/describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ctp/words.h"

static bool closed(const struct image *m, int32_t fd, uint32_t gen)
{
	const struct ctp_fd *f = image_fd(m, fd);
	return image_end_of(m, fd, gen) || (f && (f->gen != gen || f->life == CTP_FD_CLOSED));
}

unsigned describe_fds(const struct verdict_case *c, struct describe_fd out[DESCRIBE_FDS])
{
	const struct ctp_state *s = c->pass->waits ? c->about.state : NULL;
	unsigned n = 0;
	if (c->fd >= 0)
		out[n++] = (struct describe_fd){c->fd, c->gen, closed(c->about.image, c->fd, c->gen)};
	for (unsigned i = 0; s && i < image_nwaits(s); i++)
		if (s->waits[i].fd >= 0 && (s->waits[i].fd != c->fd || s->waits[i].gen != c->gen))
			out[n++] =
				(struct describe_fd){s->waits[i].fd, s->waits[i].gen,
						     closed(c->about.image, s->waits[i].fd, s->waits[i].gen)};
	return n;
}

const char *describe_claim(const struct verdict_case *c)
{
	const struct pass *p = c->pass;
	if (c->claim)
		return c->claim;
	if (c->proof.verdict == VERDICT_LIKELY && p->likely)
		return p->likely;
	if (c->proof.verdict < VERDICT_LIKELY && p->suspect)
		return p->suspect;
	return p->claim ? p->claim : p->title;
}

void describe_refuted(const struct verdict_case *c, char *buf, size_t bytes)
{
	const char *closure = c->proof.closure;
	if (c->refuted)
		snprintf(buf, bytes, "%s", c->refuted);
	else if (c->proof.verdict == VERDICT_INCONCLUSIVE)
		snprintf(buf, bytes, "a longer or complete trace shows coroutine %" PRIu64 " resumed", c->id);
	else if (c->proof.verdict != VERDICT_PROVEN)
		snprintf(buf, bytes, "the program's own code resumes coroutine %" PRIu64, c->id);
	else if (closure && !strcmp(closure, "quiet"))
		snprintf(buf, bytes,
			 "coroutine %" PRIu64 " was discarded on purpose, a pointer to it lies outside the "
			 "process, or the program, once stopped and continued, resumes it on EINTR",
			 c->id);
	else
		snprintf(buf, bytes,
			 "a pointer to coroutine %" PRIu64 " lies outside the process or in "
			 "disguise",
			 c->id);
}

void describe_message(const struct report *r, const struct finding *f, char *buf, size_t bytes)
{
	const struct verdict_case *c = f->cases[0];
	char who[256], other[256], where[32], fd[200] = "", actor[340] = "";
	report_subject(r, f, who, sizeof(who));
	report_where(r, c->about.image, where, sizeof(where));
	if (c->message) {
		snprintf(buf, bytes, "%s%s %s: %s", who, where, describe_claim(c), c->message);
		return;
	}
	if (c->fd >= 0)
		snprintf(fd, sizeof(fd), ": %sfd %d#%u (%s%s%s)", c->pass->waits ? "it waits for " : "",
			 c->fd, c->gen, words_kind(c->fd_kind), c->fd_name ? " " : "",
			 c->fd_name ? c->fd_name : "");
	if (c->actor.did)
		snprintf(actor, sizeof(actor), "%s %s %s", c->fd >= 0 ? "," : ":", c->actor.did,
			 report_who(r, c->about.image, c->actor.id, other, sizeof(other)));
	snprintf(buf, bytes, "%s%s %s%s%s", who, where, describe_claim(c), fd, actor);
}

const char *describe_proof(const struct verdict_case *c, unsigned proof)
{
	return proof == PROOF_P1 && !c->pass->waits && !c->pass->idle ? "seen as it happened" :
									proof_meaning(proof);
}
