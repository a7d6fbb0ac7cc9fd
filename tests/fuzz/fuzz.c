// SPDX-License-Identifier: MIT
//
// Files for readers that want some.
#include "fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void name_folder(char *to, size_t bytes, pid_t pid)
{
	static const char *const places[] = { "/dev/shm", "/tmp" };
	snprintf(to, bytes, "%s/ctp-fuzz-%s-%d", places[access(places[0], W_OK) != 0], fuzz_name, (int)pid);
}

const char *fuzz_folder(void)
{
	static char folder[128];
	static pid_t of;
	if (of != getpid()) {
		of = getpid();
		name_folder(folder, sizeof(folder), of);
		fuzz_remove(folder);
		if (mkdir(folder, 0700))
			abort();
	}
	return folder;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *f)
{
	return remove(path);
}

void fuzz_remove(const char *folder)
{
	nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void fuzz_clean(pid_t pid)
{
	char folder[128];
	name_folder(folder, sizeof(folder), pid);
	fuzz_remove(folder);
}

const char *fuzz_file(const char *name, const void *data, size_t bytes)
{
	static char path[256];
	snprintf(path, sizeof(path), "%s/%s", fuzz_folder(), name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes || close(fd))
		abort();
	return path;
}

FILE *fuzz_nowhere(void)
{
	static FILE *f;
	if (!f && !(f = fopen("/dev/null", "we")))
		abort();
	return f;
}
