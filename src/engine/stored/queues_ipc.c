// SPDX-License-Identifier: MIT
//
// Objects without a descriptor, or whose descriptor shows no contents: System V queues and
// detached segments, message queues, pseudo-terminals. Whatever the process may have stored
// there for itself is a doubt.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <fcntl.h>

#include "base/living.h"
#include "engine/stored/queues.h"

#define MQUEUE_MAGIC 0x19800202L
enum { PTMX_MAJOR = 5, PTMX_MINOR = 2, DOUBT_S = 2 };

static bool same_ipc(pid_t pid)
{
	char path[40], a[64] = "", b[64] = "?";
	snprintf(path, sizeof(path), "/proc/%d/ns/ipc", living_of(pid));
	return readlink(path, a, sizeof(a) - 1) > 0 && readlink("/proc/self/ns/ipc", b, sizeof(b) - 1) > 0 &&
	       !strcmp(a, b);
}

// Does a queue, by its line of /proc/sysvipc/msg, hold messages that the process may have sent, or one of its
// children? It does if the last one is its own, and if that was sent since they began and is not the only
// one. A queue whose last message is older was left by others. The kernel tells whole seconds, and when a
// process began is known to one: two more are allowed for. It is assumed that nobody has set the clock back
// meanwhile.
static bool may_be_ours(const char *line, pid_t pid, int64_t began_s, int *id)
{
	unsigned long n;
	long long sent_s;
	int last;
	if (sscanf(line, "%*d %d %*o %*u %lu %d %*d %*u %*u %*u %*u %lld", id, &n, &last, &sent_s) != 4)
		return false;
	return n && (last == pid || (n > 1 && sent_s + DOUBT_S >= began_s));
}

// When the process began, or ctp-run: then those that it was forked from had not begun, either.
static int64_t began(const struct inspection *l)
{
	struct memory own;
	memory_of_process(&own, getpid());
	int64_t s = own.began_s < l->memory.began_s ? own.began_s : l->memory.began_s;
	memory_close(&own);
	return s;
}

static bool messages(struct queues *q)
{
	char *text, *save = NULL;
	if (proc_slurp(q->l->pid, "../sysvipc/msg", &text, NULL))
		return true; // no such thing here
	bool ok = true;
	int64_t began_s = began(q->l);
	for (char *line = strtok_r(text, "\n", &save); ok && line; line = strtok_r(NULL, "\n", &save)) {
		int id;
		if (!may_be_ours(line, q->l->pid, began_s, &id))
			continue;
		snprintf(q->why, sizeof(q->why),
			 "System V queue %d holds messages that the process may have sent to itself", id);
		ok = false;
	}
	free(text);
	return ok;
}

static bool attached(const struct inspection *l, unsigned long id)
{
	for (size_t i = 0; i < l->maps.n; i++)
		if (l->maps.v[i].ino == id && !strncmp(l->maps.v[i].path, "/SYSV", 5))
			return true;
	return false;
}

static bool segments(struct queues *q)
{
	char *text, *save = NULL;
	if (proc_slurp(q->l->pid, "../sysvipc/shm", &text, NULL))
		return true;
	bool ok = true;
	for (char *line = strtok_r(text, "\n", &save); ok && line; line = strtok_r(NULL, "\n", &save)) {
		int id, maker, last;
		if (sscanf(line, "%*d %d %*o %*u %d %d", &id, &maker, &last) != 3 ||
		    (maker != q->l->pid && last != q->l->pid) || attached(q->l, (unsigned long)id))
			continue;
		snprintf(q->why, sizeof(q->why),
			 "System V segment %d, which it has detached, cannot be searched", id);
		ok = false;
	}
	free(text);
	return ok;
}

bool queues_ipc(struct queues *q)
{
	if (!same_ipc(q->l->pid)) {
		snprintf(q->why, sizeof(q->why), "its System V queues cannot be seen");
		return false;
	}
	return messages(q) && segments(q) && queues_semaphores(q);
}

// The status of a message queue: what lies in it, and who is told of the next message, with what value.
static bool message_queue(struct queues *q, const char *path, int number)
{
	char text[128] = "";
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (fd >= 0)
		close(fd);
	if (n > 0 && !proc_field(text, "QSIZE:", 10) && !proc_field(text, "NOTIFY_PID:", 10))
		return true;
	snprintf(q->why, sizeof(q->why),
		 n > 0 && !proc_field(text, "QSIZE:", 10) ?
			 "message queue fd %d will notify of a message, with a value that cannot be seen" :
			 "message queue fd %d may hold what it sent to itself",
		 number);
	return false;
}

bool queues_special(struct queues *q, const char *path, int number, const struct stat *st)
{
	struct statfs fs;
	if (S_ISCHR(st->st_mode) &&
	    ((major(st->st_rdev) == PTMX_MAJOR && minor(st->st_rdev) == PTMX_MINOR))) {
		snprintf(q->why, sizeof(q->why),
			 "the pseudo-terminal of fd %d may hold what it wrote to itself", number);
		return false;
	}
	if (S_ISCHR(st->st_mode))
		return queues_device(q, number, st);
	if (S_ISREG(st->st_mode) && !statfs(path, &fs) && fs.f_type == MQUEUE_MAGIC)
		return message_queue(q, path, number);
	return true;
}
