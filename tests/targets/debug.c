// SPDX-License-Identifier: MIT
//
// debug.c - what CTP_DEBUG has lines for, and a program that takes descriptor 2 for something else.
//   debug threads         two threads that switch, one after the other; then exit 3
//   debug fork            a child that switches, and is waited for
//   debug closed FILE     stderr is closed, and FILE is what 2 is then; two threads
//   debug replaced FILE   FILE is put in stderr's place; two threads
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static void yields(void *arg)
{
	(void)arg;
	co_yield();
}

static void *switches(void *arg)
{
	struct co *c = co_new(yields, arg);
	co_resume(c);
	co_resume(c);
	return NULL;
}

static int two_threads(void)
{
	for (int i = 0; i < 2; i++) {
		pthread_t t;
		must(-pthread_create(&t, NULL, switches, NULL));
		must(-pthread_join(t, NULL));
	}
	return 3;
}

static int forks(void)
{
	int status;
	switches(NULL);
	pid_t pid = fork();
	must(pid);
	if (pid == 0) {
		switches(NULL);
		_exit(0);
	}
	must(waitpid(pid, &status, 0));
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *file = argc > 2 ? argv[2] : "/dev/null";
	if (!strcmp(what, "fork"))
		return forks();
	if (!strcmp(what, "closed")) {
		close(2);
		if (open(file, O_WRONLY | O_CREAT, 0644) != 2)
			return 1;
	} else if (!strcmp(what, "replaced")) {
		int fd = open(file, O_WRONLY | O_CREAT, 0644);
		must(dup2(fd, 2));
	} else if (strcmp(what, "threads")) {
		return 2;
	}
	return two_threads();
}
