// SPDX-License-Identifier: MIT
//
// A map by hash. If two strings have the same hash, the later one gets the next free key.
#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static uint64_t hash(const unsigned char *bytes, size_t n)
{
	uint64_t h = 0xcbf29ce484222325; // FNV-1a
	for (size_t i = 0; i < n; i++)
		h = (h ^ bytes[i]) * 0x100000001b3;
	return h;
}

static uint32_t add(struct intern *m, uint64_t at, const void *bytes, size_t n)
{
	unsigned char *copy = malloc(n + 1);
	if (!copy || m->n >= IDMAP_NONE - 1 || GROW(m->keys, m->n, m->capacity) ||
	    idmap_set(&m->by_hash, at, (uint32_t)m->n)) {
		free(copy);
		return 0;
	}
	memcpy(copy, bytes, n);
	m->keys[m->n++] = (struct intern_key){copy, n};
	return (uint32_t)m->n;
}

uint32_t intern(struct intern *m, const void *bytes, size_t n, bool *anew)
{
	uint64_t at = hash(bytes, n);
	uint32_t row;
	for (; (row = idmap_get(&m->by_hash, at)) != IDMAP_NONE; at++) {
		*anew = false;
		if (m->keys[row].n == n && !memcmp(m->keys[row].bytes, bytes, n))
			return row + 1;
	}
	*anew = true;
	return add(m, at, bytes, n);
}

void intern_deinit(struct intern *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->keys[i].bytes);
	free(m->keys);
	idmap_deinit(&m->by_hash);
	*m = (struct intern){0};
}
