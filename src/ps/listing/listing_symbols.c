// SPDX-License-Identifier: MIT
//
// Names for addresses of a program that no table describes: by its objects, as they are mapped.
#include "ps/listing/listing_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/living.h"

static void find_root(struct listing *l)
{
	char path[40];
	struct stat mine, its;
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)living_of(l->pid));
	if (!l->core && !stat("/proc/self/ns/mnt", &mine) && !stat(path, &its) && mine.st_ino != its.st_ino)
		snprintf(l->root, sizeof(l->root), "/proc/%d/root", (int)living_of(l->pid));
}

int listing_symbols_make(struct listing *l, const struct objects *o)
{
	size_t n = 0;
	struct symbols_module *all = calloc(o->n + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < o->n; i++) {
		const struct object *one = &o->v[i];
		const char *path = *one->path == '/' ? listing_word(l, one->path) : NULL;
		const void *id = one->build_id_len ? listing_bytes(l, one->build_id, one->build_id_len) :
						     NULL;
		if (path)
			all[n++] = (struct symbols_module){.path = path,
							   .base = one->bias,
							   .start = one->lo,
							   .end = one->hi,
							   .build_id = id,
							   .build_id_len = id ? one->build_id_len : 0};
	}
	find_root(l);
	int e = symbols_new(&l->symbols, all, n, *l->root ? l->root : NULL);
	free(all);
	return e;
}
