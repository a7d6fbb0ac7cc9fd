// SPDX-License-Identifier: MIT
//
// The region is mostly unused address space: what of it is of use in a core, the process has said by madvise
// (preload/guest/coredump_advise.c), and the kernel shows that in smaps alone.
#include "find/save_tables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/living.h"
#include "find/image.h"

struct parts {
	struct maps_line *v, now; // now: whose lines are read
	size_t n, room;
};

static int take(struct parts *p, char *line)
{
	struct maps_line m;
	if (strncmp(line, "VmFlags:", 8)) {
		if (maps_parse(line, &m)) {
			p->now = m;
			p->now.path = image_is_region(&m) ? IMAGE_REGION : "";
		}
		return 0;
	}
	if (!*p->now.path || strstr(line, " dd"))
		return 0;
	int e = GROW(p->v, p->n, p->room);
	if (!e)
		p->v[p->n++] = p->now;
	return e;
}

int save_tables_find(pid_t pid, struct maps_line **v, size_t *n)
{
	struct parts p = {.now = {.path = ""}};
	char name[40], *line = NULL;
	size_t room = 0;
	int e = 0;
	snprintf(name, sizeof(name), "/proc/%d/smaps", (int)living_of(pid));
	FILE *f = fopen(name, "re");
	if (!f)
		return -errno;
	while (!e && getline(&line, &room, f) > 0) {
		line[strcspn(line, "\n")] = 0;
		e = take(&p, line);
	}
	free(line);
	fclose(f);
	if (e)
		free(p.v);
	*v = e ? NULL : p.v;
	*n = e ? 0 : p.n;
	return e;
}
