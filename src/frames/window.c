// SPDX-License-Identifier: MIT
#include "frames/window.h"

#include <stdlib.h>
#include <string.h>

bool window_init(struct window *w, const struct memory *m)
{
	*w = (struct window){.memory = m, .bytes = malloc(WINDOW_BYTES)};
	return w->bytes;
}

void window_deinit(struct window *w)
{
	free(w->bytes);
	*w = (struct window){0};
}

bool window_read(struct window *w, uint64_t at, void *to, size_t bytes)
{
	if (bytes > WINDOW_BYTES)
		return memory_peek(w->memory, at, to, bytes, false) == bytes;
	if (at < w->at || at - w->at > w->have || w->have - (at - w->at) < bytes) {
		w->at = at;
		w->have = memory_peek_touched(w->memory, at, w->bytes, WINDOW_BYTES);
		if (w->have < bytes) // a hole behind it
			w->have = memory_peek(w->memory, at, w->bytes, bytes, false);
		if (w->have < bytes)
			return false;
	}
	memcpy(to, w->bytes + (at - w->at), bytes);
	return true;
}

bool window_word(struct window *w, uint64_t at, uint64_t *to)
{
	return window_read(w, at, to, sizeof(*to));
}
