// SPDX-License-Identifier: MIT
//
// Why the kernel refuses access to a process, as far as that can be told: it is another
// user's; the kernel protects it from its own user (it changed its user or group, has
// capabilities, or is not dumpable); Yama's ptrace_scope; or, for root, a namespace or the
// limits of a container.
#include "ps/read/denied.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

// The real user of a process, or -1.
static long user_of(pid_t pid)
{
	char path[40], line[256];
	long uid = -1;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *f = fopen(path, "re");
	while (f && uid < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "Uid: %ld", &uid) != 1)
			uid = -1;
	if (f)
		fclose(f);
	return uid;
}

// What the kernel takes it for: root's, when it is shielded.
static long shown_as(pid_t pid)
{
	char path[40];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return stat(path, &st) ? -1 : (long)st.st_uid;
}

static int yama(void)
{
	int scope = 0;
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	if (f && fscanf(f, "%d", &scope) != 1)
		scope = 0;
	if (f)
		fclose(f);
	return scope;
}

const char *denied_why(pid_t pid, char *buf, size_t bytes)
{
	long uid = user_of(pid), me = (long)geteuid();
	int scope = yama(), id = (int)pid;
	if (me == 0 && scope < 3)
		snprintf(
			buf, bytes,
			"the kernel shields it even from root here (another namespace, or CAP_SYS_PTRACE is missing); "
			"run ctp-ps where ctp-run runs, or the container with --cap-add=SYS_PTRACE");
	else if (scope >= 3)
		snprintf(
			buf, bytes,
			"kernel.yama.ptrace_scope is 3: nobody may look into another process until the next boot; "
			"set it to 1 in /etc/sysctl.d and boot, or read the trace: ctp-analyze");
	else if (uid >= 0 && uid != me)
		snprintf(
			buf, bytes,
			"it belongs to another user (%ld); run ctp-ps as that user or as root: sudo ctp-ps %d",
			uid, id);
	else if (shown_as(pid) == 0)
		snprintf(
			buf, bytes,
			"the kernel shields it (it has changed its user, has capabilities, or called prctl(PR_SET_DUMPABLE, "
			"0)); run ctp-ps as root: sudo ctp-ps %d",
			id);
	else if (scope)
		snprintf(
			buf, bytes,
			"kernel.yama.ptrace_scope is %d: only %s may look into it, and its ctp-run is gone; run ctp-ps as "
			"root: sudo ctp-ps %d",
			scope, scope == 1 ? "a parent" : "root", id);
	else
		snprintf(
			buf, bytes,
			"the kernel refuses (a security module, or another namespace); run ctp-ps as root, beside its ctp-run");
	return buf;
}
