// SPDX-License-Identifier: MIT
//
// A line holds for a coroutine that has not been resumed since: that still has as many state changes. Of what
// it says a stack is made, the script's frames above the recorded ones, so that all who read stacks see it.
#include "trace/script_frames.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/json.h"
#include "base/text.h"
#include "trace/image.h"

enum { FRAMES_MOST = 32 };

static char *clean(const char *s)
{
	char *copy = s ? strdup(s) : NULL;
	if (copy)
		text_clean(copy);
	return copy;
}

// The number of a frame, from 1 on; 0: it is none. Or -ENOMEM.
static int frame_of(struct script_frames *s, const json_t *o, uint32_t *number)
{
	const char *name = json_string_value(json_array_get(o, 0)),
		   *file = json_string_value(json_array_get(o, 1)),
		   *at = json_string_value(json_array_get(o, 3));
	json_int_t line = json_integer_value(json_array_get(o, 2));
	char *key = name ? json_dumps(o, JSON_COMPACT) : NULL;
	bool anew = false;
	*number = key ? intern(&s->frames, key, strlen(key), &anew) : 0;
	free(key);
	if (!name)
		return 0;
	if (!*number || GROW(s->v, s->n, s->capacity))
		return -ENOMEM;
	if (!anew)
		return 0;
	struct script_frame *f = &s->v[s->n++];
	*f = (struct script_frame){.name = clean(name),
				   .file = clean(file),
				   .line = line > 0 && line < INT32_MAX ? (uint32_t)line : 0,
				   .at = at ? strtoull(at, NULL, 0) : 0};
	return f->name && (f->file || !file) ? 0 : -ENOMEM;
}

static int put_stack(struct image *m, const uint32_t *numbers, size_t n, uint32_t recorded)
{
	struct slices_set *all = &m->slices;
	struct script_frames *s = &m->scripts;
	unsigned below;
	if (GROW(all->stacks, all->nstacks, all->stacks_capacity) ||
	    GROW(s->stack, s->nstacks, s->stacks_capacity))
		return -ENOMEM;
	struct slices_stack *k = &all->stacks[all->nstacks];
	*k = (struct slices_stack){0};
	for (size_t i = 0; i < n; i++)
		k->pcs[k->n++] = SCRIPT_PC | (numbers[i] - 1);
	const uint64_t *pcs = image_stack(m, recorded, &below, &k->flags);
	for (unsigned i = 0; pcs && i < below && k->n < SLICES_STACK_WORDS; i++)
		k->pcs[k->n++] = pcs[i];
	s->stack[s->nstacks++] = SLICES_STACK + (uint32_t)all->nstacks++;
	return 0;
}

static int add(void *image, const json_t *o)
{
	struct image *m = image;
	struct script_frames *s = &m->scripts;
	uint32_t key[FRAMES_MOST + 1];
	size_t n = 0, i;
	json_t *frame, *frames = json_object_get(o, "frames");
	json_int_t id = json_integer_value(json_object_get(o, "coroutine")),
		   changes = json_integer_value(json_object_get(o, "changes"));
	const struct ctp_state *state = id > 0 ? image_entity(m, (uint64_t)id) : NULL;
	if (id <= 0 || !json_array_size(frames)) {
		s->bad_lines++;
		return 0;
	}
	if (!state || state->changes != (uint64_t)changes)
		return 0;
	json_array_foreach(frames, i, frame)
	{
		uint32_t number = 0;
		int e = n < FRAMES_MOST ? frame_of(s, frame, &number) : 0;
		if (e)
			return e;
		if (number)
			key[n++] = number;
	}
	bool anew = false;
	key[n] = state->stack;
	uint32_t stack = intern(&s->stacks, key, (n + 1) * sizeof(*key), &anew);
	int e = !stack ? -ENOMEM : anew ? put_stack(m, key, n, state->stack) : 0;
	return e ? e : idmap_set(&s->by_id, (uint64_t)id, s->stack[stack - 1]);
}

int script_frames_read(struct image *m, int folder, const char *name)
{
	return json_each_line(folder, name, add, m, &m->scripts.bad_lines);
}

void script_frames_deinit(struct script_frames *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->v[i].name);
		free(s->v[i].file);
	}
	free(s->v);
	free(s->stack);
	intern_deinit(&s->frames);
	intern_deinit(&s->stacks);
	idmap_deinit(&s->by_id);
}
