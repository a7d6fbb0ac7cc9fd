// SPDX-License-Identifier: MIT
//
// A hash map from 64-bit keys to 32-bit values: open addressing, at most half full, so
// that chains are short. Keys are mixed, because ids are dense.
// Invariant: a slot is empty if and only if its value is IDMAP_NONE.
#include "base/idmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t idmap_place(const struct idmap *m, uint64_t key)
{
	uint64_t h = key * 0x9E3779B97F4A7C15ULL;
	size_t i = (h ^ h >> 32) & (m->places - 1);
	while (m->values[i] != IDMAP_NONE && m->keys[i] != key)
		i = (i + 1) & (m->places - 1);
	return i;
}

static int idmap_resize(struct idmap *m, size_t places)
{
	struct idmap bigger = {.places = places, .n = m->n};
	bigger.keys = calloc(places, sizeof(*bigger.keys));
	bigger.values = malloc(places * sizeof(*bigger.values));
	if (!bigger.keys || !bigger.values) {
		idmap_deinit(&bigger);
		return -ENOMEM;
	}
	memset(bigger.values, 0xff, places * sizeof(*bigger.values));
	for (size_t i = 0; i < m->places; i++) {
		if (m->values[i] == IDMAP_NONE)
			continue;
		size_t to = idmap_place(&bigger, m->keys[i]);
		bigger.keys[to] = m->keys[i];
		bigger.values[to] = m->values[i];
	}
	idmap_deinit(m);
	*m = bigger;
	return 0;
}

void idmap_deinit(struct idmap *m)
{
	if (!m)
		return;
	free(m->keys);
	free(m->values);
	memset(m, 0, sizeof(*m));
}

int idmap_set(struct idmap *m, uint64_t key, uint32_t value)
{
	if (value == IDMAP_NONE)
		return -EINVAL;
	if (m->n * 2 >= m->places) {
		int r = idmap_resize(m, m->places ? m->places * 2 : 64);
		if (r)
			return r;
	}
	size_t i = idmap_place(m, key);
	if (m->values[i] == IDMAP_NONE)
		m->n++;
	m->keys[i] = key;
	m->values[i] = value;
	return 0;
}

uint32_t idmap_get(const struct idmap *m, uint64_t key)
{
	return m->places ? m->values[idmap_place(m, key)] : IDMAP_NONE;
}
