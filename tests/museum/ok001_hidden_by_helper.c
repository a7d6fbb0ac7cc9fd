// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 2 coroutines
// order: SIGUSR1
//
// Whoever is evicted is sent to a helper by one pipe, which sends it back by another once it is told to.
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>

#include "evicted.h"

enum { KEPT = 2 };
static int to_helper[2], from_helper[2];

static NOINLINE void keep(int i, struct co *c)
{
	(void)i;
	must(write(to_helper[1], &c, sizeof(c)));
	memset(&c, 0, sizeof(c));
}

static NOINLINE struct co *find(int i)
{
	struct co *c = NULL;
	if (!i)
		must(write(to_helper[1], "go", 2));
	must(read(from_helper[0], &c, sizeof(c)));
	return c;
}

static void help(void)
{
	unsigned char all[KEPT * sizeof(void *) + 2];
	for (size_t n = 0; n < sizeof(all);)
		n += (size_t)must(read(0, all + n, sizeof(all) - n));
	must(write(1, all, KEPT * sizeof(void *)));
	exit(0);
}

static void start_helper(void)
{
	static char *argv[] = {"helper", "helper", NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid;
	must(pipe2(to_helper, O_CLOEXEC));
	must(pipe2(from_helper, O_CLOEXEC));
	must(-posix_spawn_file_actions_init(&actions));
	must(-posix_spawn_file_actions_adddup2(&actions, to_helper[0], 0));
	must(-posix_spawn_file_actions_adddup2(&actions, from_helper[1], 1));
	must(-posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ));
	must(-posix_spawn_file_actions_destroy(&actions));
	close(to_helper[0]);
	close(from_helper[1]);
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		help();
	start_helper();
	return evict_and_serve(4, KEPT);
}
