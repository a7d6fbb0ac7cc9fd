// SPDX-License-Identifier: MIT
//
// manners_filter.c - a container's rules: system calls that fail.
//   t-filter ERROR CALL,CALL... PROGRAM ARGS...: runs PROGRAM, in which (and in
//   whatever it starts) each CALL fails with ERROR, "eperm" or "enosys".
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KNOWN(name) {#name, SYS_##name}
static const struct {
	const char *name;
	unsigned nr;
} known[] = {
	KNOWN(membarrier), KNOWN(memfd_create), KNOWN(process_vm_readv), KNOWN(ptrace),
	KNOWN(kcmp), KNOWN(pidfd_open), KNOWN(prctl), KNOWN(inotify_init1),
	KNOWN(setsid), KNOWN(madvise), KNOWN(clone3), KNOWN(close_range),
	KNOWN(statx), KNOWN(socket), KNOWN(epoll_pwait2),
};

static int number(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strlen(known[i].name) == len && !strncmp(known[i].name, name, len))
			return (int)known[i].nr;
	return -1;
}

int main(int argc, char **argv)
{
	struct sock_filter code[128] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	unsigned short n = 1;
	if (argc < 4)
		return 98;
	unsigned error = !strcmp(argv[1], "enosys") ? ENOSYS : EPERM;
	for (const char *p = argv[2]; *p; p += strspn(p, ",")) {
		size_t len = strcspn(p, ",");
		int nr = number(p, len);
		if (nr < 0 || n > 120) {
			fprintf(stderr, "t-filter: what is %s?\n", p);
			return 98;
		}
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
		p += len;
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog prog = {n, code};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) {
		fprintf(stderr, "t-filter: no filter here: %s\n", strerror(errno));
		return 77;
	}
	execvp(argv[3], argv + 3);
	return 98;
}
