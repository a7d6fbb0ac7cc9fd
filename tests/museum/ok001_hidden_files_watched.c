// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 4 coroutines
// order: SIGUSR1
//
// Whoever is evicted is the name of an empty file of a spool; which is whose, its first letter says. The program
// watches the spool, and dies if anybody else opens it or what is in it.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>

#include "evicted.h"

enum { KEPT = 4 };
static char spool[] = "spool-XXXXXX";
static char path[4096];
static int watch;

static NOINLINE void keep(int i, struct co *c)
{
	char name[4200];
	snprintf(name, sizeof(name), "%s/%c-%lx", path, 'a' + i, (unsigned long)(uintptr_t)c);
	close((int)must(open(name, O_CREAT | O_WRONLY, 0600)));
	char event[4096];
	while (read(watch, event, sizeof(event)) > 0) // our own
		;
	memset(name, 0, sizeof(name));
}

static NOINLINE struct co *find(int i)
{
	struct co *c = NULL;
	char event[4096];
	must(read(watch, event, sizeof(event)) < 0 ? 0 : -1); // nothing was opened until now
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));)
		if (*e->d_name == 'a' + i)
			c = (struct co *)(uintptr_t)strtoul(e->d_name + 2, NULL, 16);
	must(d ? closedir(d) : -1);
	while (read(watch, event, sizeof(event)) > 0) // our own
		;
	return c;
}

int main(void)
{
	must(mkdtemp(spool) && realpath(spool, path) ? 0 : -1);
	watch = (int)must(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
	must(inotify_add_watch(watch, path, IN_OPEN | IN_ACCESS));
	return evict_and_serve(6, KEPT);
}
