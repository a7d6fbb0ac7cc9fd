// SPDX-License-Identifier: MIT
//
// How timelines call things: the same words in the format of each viewer.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/history/tracks.h"
#include "base/file.h"
#include "base/text.h"

const char *tracks_who(const struct tracks_coroutine *c, char *buf, size_t bytes)
{
	snprintf(buf, bytes, "%s %" PRIu64, *c->called ? c->called : "coroutine", c->id);
	return buf;
}

const char *tracks_name(const struct tracks_slice *s, char *buf, size_t bytes)
{
	static const char *const names[] = {
		[TRACKS_NOTHING] = "",
		[TRACKS_RUNS] = "native stack",
		[TRACKS_SLEEPS] = "asleep",
		[TRACKS_UNKNOWN] = "lost records",
		[TRACKS_CREATED] = "created",
		[TRACKS_RUNNING] = "running",
		[TRACKS_SUSPENDED] = "suspended",
		[TRACKS_READY] = "ready",
		[TRACKS_LOST] = "lost records",
	};
	if (s->what == TRACKS_RUNS && s->coroutine)
		return tracks_who(s->coroutine, buf, bytes);
	bool native = s->what != TRACKS_RUNS || !s->thread || s->thread->native == s->id;
	if (!native)
		snprintf(buf, bytes, "coroutine %" PRIu64, s->id);
	else if (s->what == TRACKS_SUSPENDED && s->site && *s->site->function)
		snprintf(buf, bytes, "suspended in %s", s->site->function);
	else
		snprintf(buf, bytes, "%s", names[s->what]);
	return buf;
}

const char *tracks_finding_name(const struct tracks_finding *f, char *buf, size_t bytes)
{
	snprintf(buf, bytes, "%s %s: %s", f->finding->pass->rule, f->finding->pass->title, f->role);
	text_clean(buf);
	return buf;
}

const char *tracks_thread_name(const struct world *w, const struct tracks_thread *th, char *buf, size_t bytes)
{
	const char *name = th->stations ? "probes in thread" : th->tid == th->pid ? "main" : NULL;
	char own[CTP_NAME_TEXT];
	for (size_t i = w->nimages; !name && i-- > 0;)
		name = w->images[i].pid == th->pid ? image_thread_name(&w->images[i], th->tid, own) : NULL;
	snprintf(buf, bytes, "%s", name ? name : "thread");
	return buf;
}

const char *tracks_process(const struct world *w, uint64_t pid, char *buf, size_t bytes)
{
	const char *name = w->manifest.command;
	for (size_t i = 0; i < w->nimages; i++)
		if (w->images[i].pid == pid && w->images[i].process && i < w->manifest.nimages)
			name = w->manifest.images[i].exe;
	snprintf(buf, bytes, "%s", name && *name ? name : file_base(w->path));
	text_clean(buf);
	return buf;
}
