// SPDX-License-Identifier: MIT
//
// A stop ends the sleep in a system call. Most calls the kernel begins anew then, if no handler of a signal
// ran (signal(7), "Interruption of system calls and library functions by stop signals"). Not epoll_wait,
// which fails; nor a socket that has a timeout; and one that waits for more than some bytes may have taken
// the first of them, and returns those. So of calls that read, only such of sockets and pipes count as take
// what comes.
#include "engine/inspect/restarts.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/living.h"

static bool is_one_of(int64_t nr, const long *calls, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (nr == calls[i])
			return true;
	return false;
}

// By what it was set to: no timeout, and the first byte is enough.
static bool takes_what_comes(int fd)
{
	struct timeval timeout;
	int family, least;
	socklen_t n = sizeof(timeout);
	if (getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, &n) || timeout.tv_sec || timeout.tv_usec)
		return false;
	n = sizeof(least);
	if (getsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &least, &n) || least > 1)
		return false;
	n = sizeof(family);
	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &n) &&
	       (family == AF_UNIX || family == AF_INET || family == AF_INET6);
}

static bool of_descriptor(pid_t pid, int number)
{
	int process = living_pidfd(pid);
	int fd = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, number, 0);
	struct stat st;
	bool is = fd >= 0 && !fstat(fd, &st) &&
		  (S_ISFIFO(st.st_mode) || (S_ISSOCK(st.st_mode) && takes_what_comes(fd)));
	if (fd >= 0)
		close(fd);
	if (process >= 0)
		close(process);
	return is;
}

bool restarts_call(pid_t pid, const struct proc_task *t)
{
	static const long sleeps[] = {
#ifdef SYS_pause
		SYS_pause,
#endif
		SYS_rt_sigsuspend, SYS_futex, SYS_nanosleep, SYS_clock_nanosleep, SYS_wait4, SYS_waitid};
	static const long reads[] = {SYS_read, SYS_recvfrom, SYS_recvmsg, SYS_accept, SYS_accept4};
	enum { RECVFROM_FLAGS = 3, RECVMSG_FLAGS = 2 };
	if (t->state != 'S')
		return false;
	if (is_one_of(t->nr, sleeps, sizeof(sleeps) / sizeof(*sleeps)))
		return true;
	uint64_t flags = t->nr == SYS_recvfrom ? t->args[RECVFROM_FLAGS] :
			 t->nr == SYS_recvmsg  ? t->args[RECVMSG_FLAGS] :
						 0;
	return is_one_of(t->nr, reads, sizeof(reads) / sizeof(*reads)) && !(flags & MSG_WAITALL) &&
	       of_descriptor(pid, (int)t->args[0]);
}
