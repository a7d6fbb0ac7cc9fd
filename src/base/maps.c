// SPDX-License-Identifier: MIT
//
// Reads /proc/PID/maps line by line. A process with a hundred thousand stacks has as many
// mappings; numbers are parsed by hand, as sscanf would take longer than all else.
#include "base/maps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/living.h"

// A number in hexadecimal that ends at `end`, which is skipped.
static bool number(char **at, char end, uint64_t *out)
{
	char *stop;
	*out = strtoull(*at, &stop, 16);
	if (stop == *at || *stop != end)
		return false;
	*at = stop + 1;
	return true;
}

bool maps_parse(char *s, struct maps_line *m)
{
	uint64_t major, minor;
	if (!number(&s, '-', &m->lo) || !number(&s, ' ', &m->hi) || strlen(s) < 5)
		return false;
	memcpy(m->perms, s, 4);
	m->perms[4] = 0;
	s += 5;
	if (!number(&s, ' ', &m->offset) || !number(&s, ':', &major) || !number(&s, ' ', &minor))
		return false;
	m->major = (uint32_t)major;
	m->minor = (uint32_t)minor;
	m->ino = strtoull(s, &s, 10);
	m->path = s + strspn(s, " ");
	return m->hi > m->lo;
}

int maps_each(pid_t pid, int (*each)(void *arg, const struct maps_line *m), void *arg)
{
	char path[40];
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)living_of(pid));
	char buffer[16 << 10]; // the kernel looks all mappings up anew at each read
	FILE *f = fopen(path, "re");
	if (!f)
		return -errno;
	setvbuf(f, buffer, _IOFBF, sizeof(buffer));
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	int r = 0;
	errno = 0;
	while (!r && (n = getline(&line, &room, f)) > 0) {
		struct maps_line m;
		line[n - (line[n - 1] == '\n')] = 0;
		if (maps_parse(line, &m))
			r = each(arg, &m);
	}
	if (!r && ferror(f))
		r = errno ? -errno : -EIO;
	free(line);
	fclose(f);
	return r;
}
