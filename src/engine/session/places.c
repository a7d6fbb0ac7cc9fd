// SPDX-License-Identifier: MIT
//
// The child says one line for each place that it was asked for, and ends; ctp-run reads them when the pipe
// says that all is there. A child that dies, or takes too long, leaves the places that are known without
// debug information.
#include "engine/session/places.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/grow.h"
#include "ctp/seq.h"
#include "engine/inspect/site.h"
#include "engine/target/inherited.h"
#include "engine/target/pidfd.h"
#include "engine/target/signals.h"
#include "symbols/frames.h"

enum { AT_ONCE = 64, MOST = 1024, SECONDS = 20 };

void places_init(struct places *p, const struct ctp_region *r, pid_t pid)
{
	*p = (struct places){.r = r, .pid = pid};
}

static void close_child(struct places *p)
{
	if (!p->looks)
		return;
	if (p->child >= 0) {
		pidfd_signal(p->child, SIGKILL); // it has nothing to say any more
		close(p->child);
	}
	close(p->from);
	p->looks = false;
}

void places_deinit(struct places *p)
{
	close_child(p);
	free(p->v);
	*p = (struct places){0};
}

static uint64_t pc_of(const struct ctp_state *s)
{
	return s->stack ? 0 : s->regs[CTP_REG_PC];
}

static struct places_one *find(const struct places *p, const struct ctp_state *s)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].stack == s->stack && p->v[i].pc == pc_of(s))
			return &p->v[i];
	return NULL;
}

static size_t pcs_of(const struct places *p, const struct places_one *x, uint64_t *pcs)
{
	size_t n = site_pcs(p->r, x->stack, pcs, CTP_FRAMES_MAX);
	if (!n && x->pc)
		pcs[n++] = x->pc;
	return n;
}

static void plain(const struct places *p, const struct places_one *x, char *out, size_t bytes)
{
	uint64_t pcs[CTP_FRAMES_MAX];
	site_name(p->r, pcs_of(p, x, pcs) ? pcs[0] : 0, out, bytes);
}

const char *places_of(struct places *p, const struct ctp_state *s)
{
	struct places_one *x = find(p, s);
	if (!x && (p->n == MOST || GROW(p->v, p->n, p->room)))
		return "";
	if (!x) {
		x = &p->v[p->n++];
		*x = (struct places_one){.stack = s->stack, .pc = pc_of(s)};
	}
	return x->is == PLACES_KNOWN ? x->text : NULL;
}

void places_plain(const struct places *p, const struct ctp_state *s, char *out, size_t bytes)
{
	const struct places_one *x = find(p, s), it = {.stack = s->stack, .pc = pc_of(s)};
	if (x && x->is == PLACES_KNOWN)
		snprintf(out, bytes, "%s", x->text);
	else
		plain(p, &it, out, bytes);
}

// ------------------------------------------------------------------- the child

static struct symbols *symbols_of(const struct places *p)
{
	uint32_t n = ctp_load32(&p->r->ext->module_count), ready = 0;
	n = n < p->r->modules_max ? n : p->r->modules_max;
	struct symbols_module *all = calloc(n + 1, sizeof(*all));
	struct ctp_module *copies = calloc(n + 1, sizeof(*copies)); // the program writes the table
	char root[SYMBOLS_ROOT];
	struct symbols *s = NULL;
	for (uint32_t i = 0; all && copies && i < n; i++) {
		struct ctp_module *m = &copies[ready];
		if (!ctp_load32(&p->r->modules[i].ready))
			continue;
		*m = p->r->modules[i];
		m->path[sizeof(m->path) - 1] = '\0';
		size_t id = m->build_id_len < sizeof(m->build_id) ? m->build_id_len : sizeof(m->build_id);
		all[ready++] = (struct symbols_module){.path = m->path,
						       .base = m->base,
						       .start = m->start,
						       .end = m->end,
						       .since = m->since,
						       .build_id = m->build_id,
						       .build_id_len = id};
	}
	if (all && copies && symbols_new(&s, all, ready, symbols_root(p->pid, root) ? root : NULL))
		s = NULL;
	return s; // nothing is freed: the child ends
}

static void say_one(const struct places *p, struct symbols *s, const struct places_one *x, FILE *to)
{
	uint64_t pcs[CTP_FRAMES_MAX];
	char text[PLACES_TEXT] = "";
	struct frames f = {0};
	const struct frames_own own = {p->r->ext->self_base, p->r->ext->self_end};
	size_t n = pcs_of(p, x, pcs);
	symbols_as_of(s, x->stack ? x->stack : SYMBOLS_LAST);
	const struct symbols_frame *at = frames_add(&f, s, &own, pcs, n) ? NULL : frames_first_own(&f);
	if (at && at->line)
		frames_place(at, text, sizeof(text));
	else if (at)
		frames_name(at, text, sizeof(text));
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = '?';
	fprintf(to, "%s\n", text);
}

static _Noreturn void look(const struct places *p, int out)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	inherited_drop(&out, 1);
	signals_restore();
	alarm(SECONDS);
	FILE *to = fdopen(out, "w");
	struct symbols *s = to ? symbols_of(p) : NULL;
	for (size_t i = 0; s && i < p->n; i++)
		if (p->v[i].is == PLACES_ASKED)
			say_one(p, s, &p->v[i], to);
	if (to)
		fflush(to);
	_exit(0);
}

// ----------------------------------------------------------------- the parent

static void ask(struct places *p)
{
	int ends[2];
	size_t asked = 0;
	for (size_t i = 0; i < p->n && asked < AT_ONCE; i++)
		if (p->v[i].is == PLACES_WANTED) {
			p->v[i].is = PLACES_ASKED;
			asked++;
		}
	p->have = 0;
	if (!asked || pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return;
	pid_t child = fork();
	if (!child) {
		fcntl(ends[1], F_SETFL, 0);
		look(p, ends[1]);
	}
	close(ends[1]);
	p->looks = true;
	p->from = ends[0]; // at its end at once where there is no child
	p->child = child < 0 ? -1 : pidfd_of(child);
}

// All that will be said has been.
static void take(struct places *p)
{
	const char *at = p->said, *end = p->said + p->have;
	for (size_t i = 0; i < p->n; i++) {
		struct places_one *x = &p->v[i];
		if (x->is != PLACES_ASKED)
			continue;
		const char *line = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
		if (line)
			snprintf(x->text, sizeof(x->text), "%.*s", (int)(line - at), at);
		if (!*x->text)
			plain(p, x, x->text, sizeof(x->text));
		x->is = PLACES_KNOWN;
		at = line ? line + 1 : end;
	}
}

// Is there more to come?
static bool listen_more(struct places *p)
{
	while (p->have < sizeof(p->said)) {
		ssize_t n = read(p->from, p->said + p->have, sizeof(p->said) - p->have);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (n <= 0)
			break;
		p->have += (size_t)n;
	}
	return false;
}

void places_turn(struct places *p)
{
	bool wanted = false;
	for (size_t i = 0; !p->looks && !wanted && i < p->n; i++)
		wanted = p->v[i].is == PLACES_WANTED;
	if (wanted)
		ask(p);
	if (p->looks && listen_more(p))
		return;
	if (p->looks || wanted)
		take(p);
	close_child(p);
}
