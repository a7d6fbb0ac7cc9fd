// SPDX-License-Identifier: MIT
//
// Some programs load and unload a plugin again and again. To search its code each time would cost
// more than to load it, so what was found is kept by the object's build id and the size of its
// code. A body is compared as a whole all the same; where one is not what it was, all is searched
// anew. An object without a build id is searched each time. Runs with the loader's lock held.
#include "preload/patch/recall.h"

#include <string.h>

enum { KEPT = 64, BODIES = 8 };

struct kept {
	struct object_id id; // bytes 0: free
	uint64_t code_bytes;
	size_t n;
	struct {
		uint64_t off; // from the object's load bias
		const struct switcher_row *row;
	} bodies[BODIES];
};

static struct kept kept[KEPT];
static uint32_t turn; // whose place the next one takes

static uint64_t code_bytes(const struct object *o)
{
	uint64_t sum = 0;
	uint8_t *lo, *hi;
	for (unsigned at = 0; object_code(o, &at, &lo, &hi);)
		sum += (uint64_t)(hi - lo);
	return sum;
}

static struct kept *find(const struct object_id *id, uint64_t bytes)
{
	for (unsigned i = 0; i < KEPT; i++)
		if (kept[i].id.bytes == id->bytes && kept[i].code_bytes == bytes &&
		    memcmp(kept[i].id.id, id->id, id->bytes) == 0)
			return &kept[i];
	return NULL;
}

static uint8_t *code_end(const struct object *o, const uint8_t *at)
{
	uint8_t *lo, *hi;
	for (unsigned i = 0; object_code(o, &i, &lo, &hi);)
		if (at >= lo && at < hi)
			return hi;
	return NULL;
}

bool recall_get(const struct object *o, struct match *m, size_t most, size_t *n)
{
	struct object_id id;
	const struct kept *k = object_build_id(o, &id) ? find(&id, code_bytes(o)) : NULL;
	if (!k || k->n > most)
		return false;
	for (size_t i = 0; i < k->n; i++) {
		uint8_t *at = (uint8_t *)(o->base + k->bodies[i].off), *hi = code_end(o, at);
		if (!hi || !match_is(k->bodies[i].row, at, hi))
			return false;
		m[i] = (struct match){k->bodies[i].row, at, false};
	}
	*n = k->n;
	return true;
}

void recall_put(const struct object *o, const struct match *m, size_t n)
{
	struct kept k = {.code_bytes = code_bytes(o), .n = n};
	if (n > BODIES || !object_build_id(o, &k.id))
		return;
	for (size_t i = 0; i < n; i++) {
		if (m[i].broken)
			return;
		k.bodies[i].off = (uint64_t)m[i].at - o->base;
		k.bodies[i].row = m[i].row;
	}
	struct kept *to = find(&k.id, k.code_bytes);
	*(to ? to : &kept[turn++ % KEPT]) = k;
}
