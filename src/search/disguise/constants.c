// SPDX-License-Identifier: MIT
//
// A program may have written the files that it maps as data, its handles among the rest: so a number of a
// mapping that can be written is a constant only in a file that is executed.
#include "search/disguise/constants.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/living.h"

static bool is_executed(const struct memory *m, const struct maps_line *map)
{
	for (size_t i = 0; i < m->nmaps; i++)
		if (m->maps[i].perms[2] == 'x' && !strcmp(m->maps[i].path, map->path))
			return true;
	return false;
}

static int open_file(const struct memory *m, const struct maps_line *map)
{
	char path[4200];
	if (m->core || !is_executed(m, map))
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/root%s", living_of(m->pid), map->path);
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static bool is_as_in_file(struct constants *c, const struct maps_line *map, uint64_t addr)
{
	uint32_t here, there;
	if (c->map != map) {
		constants_deinit(c);
		c->file = open_file(c->memory, map);
		c->map = map;
	}
	return c->file >= 0 &&
	       pread(c->file, &there, sizeof(there), (off_t)(map->offset + (addr - map->lo))) ==
		       sizeof(there) &&
	       memory_peek(c->memory, addr, &here, sizeof(here), true) == sizeof(here) && here == there;
}

bool constants_has(struct constants *c, uint64_t addr)
{
	const struct maps_line *m = memory_map(c->memory, addr);
	return m && *m->path == '/' && m->perms[3] == 'p' &&
	       (m->perms[1] != 'w' || is_as_in_file(c, m, addr));
}

bool constants_built(struct constants *c, uint64_t addr)
{
	const struct maps_line *m = memory_map(c->memory, addr);
	return m && *m->path == '/' && m->perms[3] == 'p' && is_as_in_file(c, m, addr);
}

void constants_deinit(struct constants *c)
{
	if (c->map && c->file >= 0)
		close(c->file);
	c->map = NULL;
}
