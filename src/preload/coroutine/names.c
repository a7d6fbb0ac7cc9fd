// SPDX-License-Identifier: MIT
//
// Names that the program gives to its coroutines (include/ctp/task.h). They lie beside the
// stations, each with the id that it belongs to, so a station that is reused has no name
// without anything being cleared: switches and creations know nothing of names. Any thread may
// set one. A thread that has waited too long for another writer writes all the same, as a
// signal handler may have jumped out of that writer for good.
#include <errno.h>

#include <ctp/task.h>

#include "preload/coroutine/coroutine.h"
#include "preload/guest/coredump_advise.h"
#include "preload/coroutine/names.h"
#include "preload/coroutine/stack_index.h"

_Static_assert(CTP_NAME_BYTES == CTP_NAME_TEXT, "of the program's header, and of the region");

enum { TRIES = 10000 };

static struct ctp_state *living(struct ctp_state *s)
{
	return s && s->entity == CTP_COROUTINE && s->life >= CTP_CREATED && s->life <= CTP_RUNNING ? s : NULL;
}

static struct ctp_state *find(struct thread_ctx *g, uint64_t of)
{
	if (!of)
		return living(g->current);
	struct ctp_state *s = living(stack_index_slot(of));
	return s && s->slot == of ? s : living(stack_index_stack(of));
}

// Bytes of `name` that are kept: no part of a character.
static size_t kept(const char *name)
{
	size_t n = 0;
	while (n < CTP_NAME_TEXT - 1 && name[n])
		n++;
	while (n && (name[n] & 0xc0) == 0x80)
		n--;
	return n;
}

static void give(const struct ctp_state *s, const char *name, size_t bytes)
{
	const struct ctp_region *r = &ctp_tracer->region;
	struct ctp_name *to = &r->names[s->station];
	int tries = 0;
	while (!ctp_name_take(to) && ++tries < TRIES)
		;
	if (tries == TRIES)
		ctp_seq_begin(&to->seq);
	to->id = s->id;
	for (size_t i = 0; i < CTP_NAME_TEXT; i++)
		to->text[i] = i < bytes ? name[i] : 0;
	ctp_name_give(to);
	ctp_name_map(r->names_map, s->station);
	coredump_advise_grow(COREDUMP_NAMES, CTP_NAMES_MAP_BYTES / sizeof(*to) + s->station + 1);
}

void names_inherit(struct ctp_state *s, const char *name)
{
	if (*name && ctp_tracer->region.names && !(s->flags & CTP_STATE_PRIVATE))
		give(s, name, kept(name));
}

static int set(struct thread_ctx *g, uint64_t of, const char *name)
{
	const struct ctp_region *r = &ctp_tracer->region;
	struct ctp_state *s = coroutine_any() ? find(g, of) : NULL;
	size_t bytes = name ? kept(name) : 0;
	if (!s)
		return ESRCH;
	if (!r->names)
		return 0; // a version-1 engine has no place for them
	if (s->flags & CTP_STATE_PRIVATE)
		return ENOSPC;
	give(s, name, bytes);
	return name && name[bytes] ? ERANGE : 0;
}

CTP_HOOK int ctp_task_set_name(const void *of, const char *name)
{
	struct thread_ctx *g = ctp_tracer->attached ? guest_enter() : NULL;
	if (!g)
		return ctp_tracer->attached ? EAGAIN : 0;
	int r = set(g, (uint64_t)of, name);
	guest_leave(g);
	return r;
}
