// SPDX-License-Identifier: MIT
//
// A million coroutines have a few functions and some hundred stacks: each text is made once and
// kept. Symbols out of the target are cleaned before a viewer gets them.
#include "analyze/history/tracks_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/text.h"

#define STACK_BYTES 8192
#define NAME_BYTES 1024

static char *clean_copy(const char *text)
{
	char *copy = strdup(text);
	if (copy)
		text_clean(copy);
	return copy;
}

// "conn_reader src/conn.c:141"
static void place_of(const struct symbols_frame *f, char *buf, size_t bytes)
{
	char name[NAME_BYTES], place[512];
	frames_name(f, name, sizeof(name));
	frames_place(f, place, sizeof(place));
	if (!*place && f->symbol && f->module)
		snprintf(place, sizeof(place), "%s", file_base(f->module));
	snprintf(buf, bytes, "%s%s%s", name, *place ? " " : "", place);
	text_clean(buf);
}

static char *stack_text(const struct frames *f)
{
	char *text = malloc(STACK_BYTES), place[NAME_BYTES + 512];
	size_t used = 0;
	if (text)
		*text = 0;
	for (size_t i = 0; text && i < f->n && used < STACK_BYTES; i++) {
		place_of(f->items[i], place, sizeof(place));
		used += (size_t)snprintf(text + used, STACK_BYTES - used, "%s#%zu %s", i ? "\n" : "", i,
					 place);
	}
	return text;
}

static bool same_origin(const struct symbols_frame *a, const struct symbols_frame *b)
{
	const char *x = a->file ? a->file : a->module, *y = b->file ? b->file : b->module;
	return x && y && !strcmp(x, y);
}

// Who waits: the source file that switches is the program's library of coroutines, where there is
// another one on the stack, and names the same function for all waits.
static const struct symbols_frame *waiter(const struct frames *f)
{
	const struct symbols_frame *inner = frames_first_own(f);
	size_t i = 0;
	while (i < f->n && f->items[i] != inner)
		i++;
	while (i < f->n && (frames_is_library(f->items[i]) || same_origin(f->items[i], inner)))
		i++;
	return i < f->n ? f->items[i] : inner;
}

static char *function_of(const struct symbols_frame *f)
{
	char name[NAME_BYTES] = "";
	if (f)
		frames_name(f, name, sizeof(name));
	return clean_copy(name);
}

// Fills in what the frames say. 0 or -ENOMEM.
static int fill(struct tracks_site *s, const struct frames *f, uint64_t pc)
{
	const struct symbols_frame *own = waiter(f), *caller = frames_first_own(f);
	char place[NAME_BYTES + 512] = "";
	if (!own && pc)
		snprintf(place, sizeof(place), "0x%" PRIx64, pc);
	if (own)
		place_of(own, place, sizeof(place));
	s->function = function_of(own);
	s->place = strdup(place);
	if (caller)
		place_of(caller, place, sizeof(place));
	s->caller = function_of(caller);
	s->caller_place = strdup(place);
	s->stack = stack_text(f);
	return s->function && s->place && s->caller && s->caller_place && s->stack ? 0 : -ENOMEM;
}

static void site_free(struct tracks_site *s)
{
	free((char *)s->function);
	free((char *)s->place);
	free((char *)s->caller);
	free((char *)s->caller_place);
	free((char *)s->stack);
	free(s);
}

const struct tracks_site *tracks_names_site(struct tracks_names *n, const struct report *r,
					    const struct image *m, uint32_t stack, uint64_t pc)
{
	size_t image = m ? (size_t)(m - r->world->images) : 0;
	bool read = m && stack;
	uint64_t key = read ? (uint64_t)(image + 1) << 32 | stack : pc ? pc | 1ULL << 63 : 0;
	uint32_t at = idmap_get(&n->by_stack, key);
	if (at != IDMAP_NONE)
		return n->sites[at];
	struct frames f = {0};
	struct tracks_site *s = calloc(1, sizeof(*s));
	int e = s ? 0 : -ENOMEM;
	if (!e && read)
		e = frames_read(&f, r->symbols[image], m, stack);
	if (!e)
		e = fill(s, &f, pc);
	if (!e)
		e = GROW(n->sites, n->nsites, n->sites_capacity);
	if (!e)
		e = idmap_set(&n->by_stack, key, (uint32_t)n->nsites);
	frames_deinit(&f);
	if (e) {
		if (s)
			site_free(s);
		return NULL;
	}
	n->sites[n->nsites++] = s;
	s->id = (uint32_t)n->nsites;
	return s;
}

// Its function, and what the program itself calls it.
static void called(const struct report *r, const struct image *m, const struct ctp_state *s, uint64_t entry,
		   const char *given, char *buf, size_t bytes)
{
	if (s && s->entity != CTP_NATIVE && s->entry == entry)
		report_name(r, m, s, buf, bytes);
	else if (entry)
		frames_entry_name(frames_entry(r->symbols[m - r->world->images], entry), NULL, buf, bytes);
	size_t n = strlen(buf);
	if (given)
		snprintf(buf + n, bytes - n, "%s\"%s\"", n ? " " : "", given);
}

const char *tracks_names_called(struct tracks_names *n, const struct report *r, const struct image *m,
				uint64_t id, uint64_t entry)
{
	char name[NAME_BYTES] = "", given[CTP_NAME_TEXT];
	if (!m)
		return "";
	const struct ctp_state *s = image_entity(m, id);
	bool has_name = image_name(m, id, given) != NULL;
	uint64_t of = (uint64_t)(m - r->world->images) << 32 | (s ? s->stack << 8 | s->life : 0);
	uint64_t key = ((has_name ? ~id : entry) ^ of * 0x9E3779B97F4A7C15ULL) * 0xD6E8FEB86659FD93ULL;
	uint32_t at = idmap_get(&n->by_called, key);
	if (at != IDMAP_NONE)
		return n->called[at];
	called(r, m, s, entry, has_name ? given : NULL, name, sizeof(name));
	char *copy = clean_copy(name);
	if (!copy || GROW(n->called, n->ncalled, n->called_capacity) ||
	    idmap_set(&n->by_called, key, (uint32_t)n->ncalled)) {
		free(copy);
		return "";
	}
	return n->called[n->ncalled++] = copy;
}

void tracks_names_deinit(struct tracks_names *n)
{
	for (size_t i = 0; i < n->nsites; i++)
		site_free(n->sites[i]);
	for (size_t i = 0; i < n->ncalled; i++)
		free(n->called[i]);
	free(n->sites);
	free(n->called);
	idmap_deinit(&n->by_stack);
	idmap_deinit(&n->by_called);
	*n = (struct tracks_names){0};
}
