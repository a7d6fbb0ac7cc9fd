// SPDX-License-Identifier: MIT
//
// Only a pidfd identifies a process for certain, so signals are sent through one. If the kernel gives
// none, /proc shows whether the process lives: a number that was given to another process meanwhile
// counts as the first one.
#include "engine/target/pidfd.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/living.h"
int pidfd_of(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

char pidfd_state(pid_t pid)
{
	char path[64], text[512];
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return '\0';
	size_t n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	const char *state = strrchr(text, ')'); // PID (NAME) STATE
	return state && state[1] == ' ' ? state[2] : '\0';
}

bool pidfd_gone(pid_t pid, int pidfd)
{
	struct pollfd end = {.fd = pidfd, .events = POLLIN};
	if (pidfd >= 0)
		return poll(&end, 1, 0) > 0;
	char state = pidfd_state(pid);
	if (state == 'Z') // or is that its first thread alone?
		return living_of(pid) == pid;
	return state ? state == 'X' : getpgid(pid) < 0 && errno == ESRCH;
}

int pidfd_signal(int pidfd, int sig)
{
	return syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0) ? -errno : 0;
}
