// SPDX-License-Identifier: MIT
#include "base/beside.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The folder of this command. False: it cannot be told.
static bool own_folder(char out[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
	if (n <= 0)
		return false;
	out[n] = '\0';
	*strrchr(out, '/') = '\0';
	return true;
}

int beside_find(const char *name, const char *room, char *out, size_t bytes)
{
	char self[PATH_MAX];
	if (!own_folder(self))
		return -ENOENT;
	if (snprintf(out, bytes, "%s/%s", self, name) < (int)bytes && !access(out, X_OK))
		return 0;
	if (snprintf(out, bytes, "%s/../%s/%s", self, room, name) < (int)bytes && !access(out, X_OK))
		return 0;
	return -ENOENT;
}

int beside_library(const char *name, const char *room, char *out, size_t bytes)
{
	char self[PATH_MAX], path[3][PATH_MAX + 64];
	if (!own_folder(self))
		return -ENOENT;
	snprintf(path[0], sizeof(path[0]), "%s/../%s/%s", self, room, name);
	snprintf(path[1], sizeof(path[1]), "%s/" CTP_LIBDIR_FROM_BINDIR "/%s", self, name);
	snprintf(path[2], sizeof(path[2]), CTP_LIBDIR "/%s", name);
	int r = -ENOENT;
	for (unsigned i = 0; r && i < sizeof(path) / sizeof(*path); i++) {
		char *real = realpath(path[i], NULL);
		if (real && strlen(real) < bytes) {
			strcpy(out, real);
			r = 0;
		}
		free(real);
	}
	return r;
}

const void *beside_load(const char *name, const char *room, const char *symbol, char *why, size_t bytes)
{
	char path[PATH_MAX];
	if (beside_library(name, room, path, sizeof(path))) {
		snprintf(why, bytes, "%s is not where it was installed, nor beside %s; reinstall", name,
			 program_invocation_short_name);
		return NULL;
	}
	void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const void *found = module ? dlsym(module, symbol) : NULL;
	if (!found)
		snprintf(why, bytes, "%s", dlerror());
	return found;
}
