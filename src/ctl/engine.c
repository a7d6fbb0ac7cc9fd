// SPDX-License-Identifier: MIT
//
// Every ctp-run of this user is asked at once, and those that do not trace the process say so: nothing that
// the program could have changed is believed. A ctp-run is known by the socket among its descriptors.
#include "ctl/engine.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/proc_status.h"

#define SOCKET_ENDS "/ctp-control (deleted)" // engine/record/slot.h
enum { ANSWER_BYTES = 65536 };

struct asked {
	struct pollfd *v;
	size_t n, capacity;
	bool denied; // a ctp-run's descriptors may not be looked at
};

static bool same_namespace(const char *a, const char *b)
{
	char x[320], y[320];
	struct stat p, q;
	snprintf(x, sizeof(x), "/proc/%s/ns/pid", a);
	snprintf(y, sizeof(y), "/proc/%s/ns/pid", b);
	return !stat(x, &p) && !stat(y, &q) && p.st_ino == q.st_ino && p.st_dev == q.st_dev;
}

// What this ctp-run calls the process; 0: it cannot know it.
static long called_by(const char *engine, pid_t pid)
{
	char name[16];
	if (same_namespace(engine, "self"))
		return pid;
	snprintf(name, sizeof(name), "%d", (int)pid);
	return same_namespace(engine, name) ? proc_status_number(pid, "NSpid:", true) : 0;
}

// Anybody may see a process's name, also where its descriptors are not to be seen.
static bool is_ctp_run(const char *pid)
{
	char path[320], name[20] = "";
	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	FILE *f = fopen(path, "re");
	bool read = f && fgets(name, sizeof(name), f);
	if (f)
		fclose(f);
	return read && !strcmp(name, "ctp-run\n");
}

// A connection by that descriptor, if it is the socket. -1: it is not.
static int connect_by(const char *path)
{
	char link[512];
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	ssize_t n = readlink(path, link, sizeof(link) - 1);
	size_t ends = sizeof(SOCKET_ENDS) - 1;
	if (n < (ssize_t)ends || memcmp(link + n - ends, SOCKET_ENDS, ends) ||
	    (size_t)snprintf(to.sun_path, sizeof(to.sun_path), "%s", path) >= sizeof(to.sun_path))
		return -1;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to))) {
		close(fd);
		return -1;
	}
	return fd;
}

static int connect_to(struct asked *a, const char *pid)
{
	char path[320];
	int fd = -1;
	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	DIR *d = opendir(path);
	a->denied |= !d && errno == EACCES;
	for (struct dirent *e; fd < 0 && d && (e = readdir(d));) {
		snprintf(path, sizeof(path), "/proc/%.20s/fd/%.20s", pid, e->d_name);
		fd = connect_by(path);
	}
	if (d)
		closedir(d);
	return fd;
}

static int send_request(int fd, long pid, const char *verb, const char *arg)
{
	json_t *o = json_pack("{s:s, s:I, s:s}", "verb", verb, "pid", (json_int_t)pid, "arg", arg ? arg : "");
	char *words = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	int r = !words ? -ENOMEM : send(fd, words, strlen(words), MSG_NOSIGNAL) < 0 ? -errno : 0;
	free(words);
	return r;
}

static int ask_all(struct asked *a, pid_t pid, const char *verb, const char *arg)
{
	DIR *d = opendir("/proc");
	if (!d)
		return -errno;
	int r = 0;
	for (struct dirent *e; !r && (e = readdir(d));) {
		int fd = isdigit((unsigned char)*e->d_name) && is_ctp_run(e->d_name) ?
				 connect_to(a, e->d_name) :
				 -1;
		long called = fd < 0 ? 0 : called_by(e->d_name, pid);
		if (fd < 0)
			continue;
		if (called <= 0 || send_request(fd, called, verb, arg) || GROW(a->v, a->n, a->capacity))
			close(fd);
		else
			a->v[a->n++] = (struct pollfd){.fd = fd, .events = POLLIN};
	}
	closedir(d);
	return r;
}

// The answer of one that has said something. NULL: it is not its process, or it is gone (*gone).
static json_t *hear(struct pollfd *p, bool *gone)
{
	static char words[ANSWER_BYTES];
	ssize_t n = recv(p->fd, words, sizeof(words), 0);
	json_t *o = n > 0 ? json_loadb(words, (size_t)n, 0, NULL) : NULL;
	const char *state = json_string_value(json_object_get(o, "state"));
	*gone |= n <= 0;
	close(p->fd);
	p->fd = -1;
	if (state && strcmp(state, "not mine"))
		return o;
	json_decref(o);
	return NULL;
}

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static int hear_all(struct asked *a, int seconds, json_t **answer)
{
	int64_t end = now_ms() + seconds * 1000LL, left;
	size_t waits = a->n;
	bool gone = false;
	while (waits && (left = end - now_ms()) > 0) {
		int n = poll(a->v, a->n, (int)left);
		if (n < 0 && errno != EINTR)
			return -errno;
		for (size_t i = 0; n > 0 && i < a->n; i++) {
			if (a->v[i].fd < 0 || !a->v[i].revents)
				continue;
			waits--;
			if ((*answer = hear(&a->v[i], &gone)))
				return 0;
		}
	}
	return waits ? ENGINE_SILENT : gone ? ENGINE_GONE : a->denied ? -EACCES : ENGINE_NONE;
}

static int ask_once(pid_t pid, const char *verb, const char *arg, int seconds, json_t **answer)
{
	struct asked a = {0};
	int r = ask_all(&a, pid, verb, arg);
	r = r ? r : hear_all(&a, seconds, answer);
	for (size_t i = 0; i < a.n; i++)
		if (a.v[i].fd >= 0)
			close(a.v[i].fd);
	free(a.v);
	return r;
}

int engine_ask(pid_t pid, const char *verb, const char *arg, int seconds, json_t **answer)
{
	enum { TRIES = 8 };
	const struct timespec nap = {.tv_nsec = 50000000};
	long whole = proc_status_number(pid, "Tgid:", false); // a thread's number stands for its process
	if (whole <= 0)
		return ENGINE_NO_PROCESS;
	int r = ask_once((pid_t)whole, verb, arg, seconds, answer);
	// One that ended meanwhile may have been another program's
	for (int i = 1; r == ENGINE_GONE && i < TRIES; i++) {
		nanosleep(&nap, NULL);
		r = ask_once((pid_t)whole, verb, arg, seconds, answer);
	}
	return r;
}
