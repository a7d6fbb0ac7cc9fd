// SPDX-License-Identifier: MIT
//
// Reading symbol tables takes milliseconds, so it is done once, and again when an object was mapped or
// unmapped.
#include "engine/stackless/functions.h"

#include "engine/target/proc.h"

static size_t code_mappings(const struct maps_line *maps, size_t n)
{
	size_t count = 0;
	for (size_t i = 0; i < n; i++)
		count += maps[i].perms[2] == 'x' && *maps[i].path == '/';
	return count;
}

void functions_refresh(struct functions *f, pid_t pid, const struct maps_line *maps, size_t n)
{
	const struct program p = {pid, maps, n};
	size_t objects = code_mappings(maps, n);
	const char *unnamed;
	if (f->read_ns && objects == f->objects)
		return;
	pairs_deinit(&f->pairs);
	if (program_pairs(&f->pairs, &p, &unnamed))
		pairs_deinit(&f->pairs);
	f->objects = objects;
	f->read_ns = proc_now_ns();
}

void functions_deinit(struct functions *f)
{
	pairs_deinit(&f->pairs);
	*f = (struct functions){0};
}
