// SPDX-License-Identifier: MIT
//
// execs PROGRAM: runs it in every way in which programs are executed, and says how each ended.
#include <fcntl.h>
#include <libgen.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "must.h"

static char path[4096], *name, *words[2];

static void way_execl(void) { execl(path, name, (char *)NULL); }
static void way_execle(void) { execle(path, name, (char *)NULL, environ); }
static void way_execlp(void) { execlp(name, name, (char *)NULL); }
static void way_execv(void) { execv(path, words); }
static void way_execve(void) { execve(path, words, environ); }
static void way_execvp(void) { execvp(name, words); }
static void way_execvpe(void) { execvpe(name, words, environ); }
static void way_execveat(void) { execveat(AT_FDCWD, path, words, environ, 0); }
static void way_execveat_fd(void) { execveat(open(path, O_RDONLY), "", words, environ, AT_EMPTY_PATH); }
static void way_fexecve(void) { fexecve(open(path, O_RDONLY), words, environ); }

static const struct {
	const char *name;
	void (*run)(void);
} ways[] = {{"execl", way_execl}, {"execle", way_execle}, {"execlp", way_execlp}, {"execv", way_execv},
	    {"execve", way_execve}, {"execvp", way_execvp}, {"execvpe", way_execvpe}, {"execveat", way_execveat},
	    {"execveat-fd", way_execveat_fd}, {"fexecve", way_fexecve}};

static void ended(const char *how, pid_t pid)
{
	int status;
	must(waitpid(pid, &status, 0));
	printf("%s: %d\n", how, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char wanted[9000];
	pid_t pid;
	if (argc != 2 || !realpath(argv[1], path))
		return 2;
	name = basename(strdup(path));
	words[0] = name;
	snprintf(wanted, sizeof(wanted), "/nowhere:%.*s:%s", (int)(strlen(path) - strlen(name) - 1), path, getenv("PATH"));
	setenv("PATH", wanted, 1);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		must(pid = fork());
		if (!pid) {
			ways[i].run();
			_exit(99);
		}
		ended(ways[i].name, pid);
	}
	must(pid = vfork());
	if (!pid) {
		execve(path, words, environ);
		_exit(99);
	}
	ended("vfork", pid);
	must(-posix_spawn(&pid, path, NULL, NULL, words, environ));
	ended("posix_spawn", pid);
	must(-posix_spawnp(&pid, name, NULL, NULL, words, environ));
	ended("posix_spawnp", pid);
	// what does not exist fails as ever
	must(-(posix_spawnp(&pid, "no-such-program", NULL, NULL, words, environ) != 2));
	if (execvp("no-such-program", words) != -1 || execve("/no/such", words, environ) != -1)
		return 3;
	printf("system: %d\n", WEXITSTATUS(system(name)));
	return 0;
}
