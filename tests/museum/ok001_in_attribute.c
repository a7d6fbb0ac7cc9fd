// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 2 coroutines
// order: SIGUSR1
//
// A file without a name has an attribute for whoever was evicted (setxattr(2)). Where no file system here has
// attributes, a variable serves.
#include <fcntl.h>
#include <stdio.h>
#include <sys/xattr.h>

#include "evicted.h"

enum { EVICTED = 2 };
static int file;
static struct co *instead[EVICTED];

static NOINLINE void open_file(void)
{
	static const char *const folders[] = {"/var/tmp", "/tmp", "/dev/shm", "."};
	for (unsigned i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		file = open(folders[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		if (file >= 0 && !fsetxattr(file, "user.evicted", "", 0, 0))
			return;
		if (file >= 0)
			close(file);
	}
	file = -1;
}

static void keep(int i, struct co *c)
{
	char name[32];
	snprintf(name, sizeof(name), "user.evicted.%d", i);
	if (file < 0)
		instead[i] = c;
	else
		must(fsetxattr(file, name, &c, sizeof(c), 0));
	__asm__ volatile("" : : "r"(&c) : "memory");
}

static struct co *find(int i)
{
	struct co *c = instead[i];
	char name[32];
	snprintf(name, sizeof(name), "user.evicted.%d", i);
	if (file >= 0)
		must(fgetxattr(file, name, &c, sizeof(c)));
	return c;
}

int main(void)
{
	open_file();
	return evict_and_serve(5, EVICTED);
}
