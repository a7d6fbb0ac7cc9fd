// SPDX-License-Identifier: MIT
//
// The program must find what it would have found without ctp-run: its signal mask and
// dispositions, its descriptors (also those that were closed), its limits. All descriptors of
// ctp-run are close-on-exec.
#include "engine/start/launch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/target/signals.h"

void launch_inherit(struct launch_inherited *in)
{
	*in = (struct launch_inherited){.n = 0};
	for (int fd = 0; fd < 3; fd++) {
		in->closed[fd] = fcntl(fd, F_GETFD) < 0;
		if (in->closed[fd] && open("/dev/null", O_RDWR | O_CLOEXEC) != fd)
			return;
	}
	DIR *d = opendir("/proc/self/fd");
	for (struct dirent *e; d && (e = readdir(d));) {
		int fd = atoi(e->d_name);
		int *more = fd > 2 && fd != dirfd(d) ? realloc(in->fds, sizeof(int) * (in->n + 1)) : NULL;
		if (!more)
			continue;
		in->fds = more;
		in->fds[in->n++] = fd;
	}
	if (d)
		closedir(d);
}

void launch_close_inherited(const struct launch_inherited *in)
{
	for (unsigned i = 0; i < in->n; i++)
		close(in->fds[i]);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; null >= 0 && fd < 2; fd++)
		dup3(null, fd, O_CLOEXEC);
	if (null >= 0)
		close(null);
}

// Like execvp: what the kernel does not know is given to the shell.
static void execute(const struct launch_plan *plan)
{
	unsigned argc = 0;
	execv(plan->path, plan->argv);
	if (errno != ENOEXEC)
		return;
	while (plan->argv[argc])
		argc++;
	char **argv = calloc(argc + 3, sizeof(*argv));
	if (!argv)
		return;
	argv[0] = (char *)"/bin/sh";
	argv[1] = (char *)plan->path;
	for (unsigned i = 1; i < argc; i++)
		argv[i + 1] = plan->argv[i];
	execv(argv[0], argv);
}

static void child(const struct launch_plan *plan, const struct launch_inherited *in, int go, int error)
{
	char c;
	ssize_t n;
	for (unsigned i = 0; i < plan->n_env; i++)
		if (strncmp(plan->env[i], "LD_PRELOAD=", 11))
			putenv((char *)plan->env[i]);
	if (plan->preload)
		setenv("LD_PRELOAD", plan->preload, 1);
	while ((n = read(go, &c, 1)) < 0 && errno == EINTR)
		;
	if (n != 1)
		_exit(125); // cancelled, or ctp-run is gone
	signals_restore();
	for (int fd = 0; fd < 3; fd++)
		if (in->closed[fd])
			close(fd);
	execute(plan);
	int e = errno;
	n = write(error, &e, sizeof(e));
	_exit(125);
}

int launch_fork(struct launch *l, const struct launch_plan *plan, const struct launch_inherited *in)
{
	int go[2], error[2];
	*l = (struct launch){.pid = -1, .go = -1, .error = -1};
	if (pipe2(go, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(error, O_CLOEXEC) < 0) {
		int e = errno;
		close(go[0]);
		close(go[1]);
		return -e;
	}
	pid_t pid = fork();
	int e = errno;
	if (pid == 0) {
		close(go[1]);
		close(error[0]);
		child(plan, in, go[0], error[1]);
	}
	close(go[0]);
	close(error[1]);
	*l = (struct launch){.pid = pid, .go = go[1], .error = error[0]};
	if (pid < 0) {
		close(go[1]);
		close(error[0]);
		return -e;
	}
	return 0;
}

static void reap(struct launch *l)
{
	while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
		;
	l->pid = -1;
}

int launch_go(struct launch *l)
{
	int e = 0;
	ssize_t n;
	while ((n = write(l->go, "", 1)) < 0 && errno == EINTR)
		;
	close(l->go);
	while ((n = read(l->error, &e, sizeof(e))) < 0 && errno == EINTR)
		;
	close(l->error);
	if (n != (ssize_t)sizeof(e))
		return 0;
	reap(l);
	return e;
}

void launch_cancel(struct launch *l)
{
	close(l->go);
	close(l->error);
	reap(l);
}
