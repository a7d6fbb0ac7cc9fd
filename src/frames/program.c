// SPDX-License-Identifier: MIT
//
// An object is opened by its mapping, or by its name as the program sees it, and used only if it is the file
// that is mapped.
#include "frames/program.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/living.h"

static int open_path(const char *path, uint64_t ino)
{
	struct stat st;
	int fd = file_open(AT_FDCWD, path, 0);
	if (fd >= 0 && ino && (fstat(fd, &st) || st.st_ino != ino)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

static int open_object(const struct program *of, const struct maps_line *m)
{
	char path[4200];
	if (!of->pid)
		return open_path(m->path, 0);
	int n = snprintf(path, sizeof(path), "/proc/%d/root%s", (int)living_of(of->pid), m->path);
	int fd = n < (int)sizeof(path) ? open_path(path, m->ino) : -ENAMETOOLONG;
	if (fd < 0) {
		snprintf(path, sizeof(path), "/proc/%d/exe", (int)living_of(of->pid));
		fd = open_path(path, m->ino);
	}
	return fd;
}

static bool same_file(const struct maps_line *a, const struct maps_line *b)
{
	return a->ino == b->ino && a->major == b->major && a->minor == b->minor && !strcmp(a->path, b->path);
}

// A core need not say where the code was: any mapping of the object will do.
static bool counts(const struct program *of, const struct maps_line *m)
{
	return (m->perms[2] == 'x' || !of->pid) && *m->path == '/';
}

// Does it stand further up in the list?
static bool seen(const struct program *of, size_t i)
{
	for (size_t k = i; k-- > 0 && of->maps[i].lo - of->maps[k].lo < (1ULL << 32);)
		if (counts(of, &of->maps[k]) && same_file(&of->maps[k], &of->maps[i]))
			return true;
	return false;
}

int program_pairs(struct pairs *p, const struct program *of, const char **unnamed)
{
	int e = 0;
	bool first = true;
	*unnamed = NULL;
	for (size_t i = 0; i < of->nmaps && e != -ENOMEM; i++) {
		const struct maps_line *m = &of->maps[i];
		if (!counts(of, m) || seen(of, i))
			continue;
		struct pairs_module module = {.path = m->path,
					      .start = m->lo,
					      .offset = m->offset,
					      .number = (uint32_t)i,
					      .by_code = of->by_code};
		bool named = false;
		module.fd = open_object(of, m);
		e = module.fd < 0 ? 0 : pairs_add(p, &module, &named);
		if (module.fd >= 0)
			close(module.fd);
		if (!named && first)
			*unnamed = m->path;
		first = false;
	}
	pairs_sort(p);
	return e == -ENOMEM ? e : 0;
}
