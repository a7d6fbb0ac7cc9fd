// SPDX-License-Identifier: MIT
//
// The program can write the word `ask`, so a pid in it is only a claim. It counts
// if the kernel confirms it, whatever the region says:
//
// - The process is held by a pidfd first, and still lives when all has been read:
//   so what was read in between is its own, and its number was not given to another.
// - It began after the first process, and has this run's first region and libctp.so
//   mapped, as everybody has who asks. (A child that took a spare region may have called exec
//   before ctp-run sees it: then only its parents can prove it.)
// - PROVEN: its parents, one after the other, lead to a process of this run. They are
//   read twice, and both times must be the same: then there was an instant at which each
//   was the next one's parent. A child of ctp-run's own counts, too (CLONE_PARENT),
//   unless ctp-run takes in orphans (PR_SET_CHILD_SUBREAPER, PID 1), which may be anybody's.
// - PROVEN as well: a daemon's parent is gone before its child can ask, and nothing
//   in the kernel tells whose child that was. But until it calls exec it has the random
//   bytes (AT_RANDOM) that the kernel gave to its parent's image, and nobody else has.
// - LIKELY: an orphan that has called exec. It has the user ids of ctp-run, which it
//   takes to open the region. It is traced and waited for, but no signal goes to it.
//
// The limit: a program of the same user that maps the region and libctp.so on purpose can
// pass for LIKELY. It is then inspected, which that user may do anyway; no more.
#include "engine/session/descent.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/maps.h"
#include "engine/target/pidfd.h"

enum { GENERATIONS = 256 }; // more parents than that are not looked through

// One process in a line of descent.
struct link {
	pid_t pid, parent;
	uint64_t started;
};

static bool read_link(pid_t pid, struct link *out)
{
	char *text, *at;
	int parent;
	unsigned long long started;
	if (proc_slurp(pid, "stat", &text, NULL))
		return false;
	at = strrchr(text, ')'); // PID (NAME) STATE PPID ..., the 22nd: when it was made
	bool ok = at &&
		  sscanf(at + 1,
			 " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
			 &parent, &started) == 2;
	free(text);
	if (ok)
		*out = (struct link){.pid = pid, .parent = parent, .started = started};
	return ok;
}

// Does the line end here, and with one of this run?
static bool is_of_run(const struct descent_run *run, const struct link *l)
{
	return run->knows(run->ctx, l->parent) ||
	       (l->parent == getpid() && !run->adopts && l->started > run->started);
}

// The line from `pid` up to who is of this run. 0: it leads elsewhere.
static unsigned read_line(const struct descent_run *run, pid_t pid, struct link line[GENERATIONS])
{
	for (unsigned n = 0; n < GENERATIONS && pid > 1; n++) {
		if (!read_link(pid, &line[n]) || line[n].started < run->started)
			return 0;
		if (is_of_run(run, &line[n]))
			return n + 1;
		pid = line[n].parent;
	}
	return 0;
}

static bool descends(const struct descent_run *run, pid_t pid)
{
	struct link a[GENERATIONS], b[GENERATIONS];
	unsigned n = read_line(run, pid, a);
	if (!n || read_line(run, pid, b) != n)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (a[i].pid != b[i].pid || a[i].parent != b[i].parent || a[i].started != b[i].started)
			return false;
	return true;
}

// ------------------------------------------------------------- what it has mapped

struct mapped {
	const struct descent_run *run;
	struct descent_file claimed;
	bool region, library;
};

// An overlay may show another inode than stat(2): then the path tells.
static bool is_file(const struct descent_file *f, const struct maps_line *m)
{
	return m->ino && ((m->ino == f->ino && m->major == f->major && m->minor == f->minor) ||
			  (f->path && !strcmp(m->path, f->path)));
}

static int match_mapping(void *arg, const struct maps_line *m)
{
	struct mapped *is = arg;
	is->region |= is_file(&is->run->region, m) || is_file(&is->claimed, m);
	is->library |= is_file(&is->run->library, m);
	return is->region && is->library;
}

static struct descent_file file_of(const struct stat *st, const char *path)
{
	return (struct descent_file){
		.ino = st->st_ino, .major = major(st->st_dev), .minor = minor(st->st_dev), .path = path};
}

static bool has_ours(const struct descent_run *run, pid_t pid, int claimed_fd)
{
	struct stat st;
	struct mapped is = {.run = run, .library = !run->library.path};
	if (claimed_fd >= 0 && !fstat(claimed_fd, &st))
		is.claimed = file_of(&st, NULL);
	return maps_each(pid, match_mapping, &is) > 0;
}

// ------------------------------------------------------------- orphans

static bool has_our_rights(pid_t pid)
{
	char *text;
	unsigned u[4], g[4];
	if (proc_slurp(pid, "status", &text, NULL))
		return false;
	const char *uid = strstr(text, "\nUid:"), *gid = strstr(text, "\nGid:");
	bool ok = uid && gid && sscanf(uid + 5, "%u %u %u %u", &u[0], &u[1], &u[2], &u[3]) == 4 &&
		  sscanf(gid + 5, "%u %u %u %u", &g[0], &g[1], &g[2], &g[3]) == 4;
	free(text);
	for (int i = 0; ok && i < 4; i++)
		ok = u[i] == geteuid() && g[i] == getegid();
	return ok;
}

static bool is_fork_of_ours(const struct descent_run *run, pid_t pid)
{
	unsigned char bytes[PROC_RANDOM];
	if (!proc_random(pid, bytes))
		return false;
	for (unsigned i = 0; i < run->images && i < DESCENT_IMAGES; i++)
		if (!memcmp(run->random[i], bytes, sizeof(bytes)))
			return true;
	return false;
}

static enum descent of_orphan(const struct descent_run *run, pid_t pid)
{
	struct link l;
	if (!read_link(pid, &l) || l.started < run->started || !has_our_rights(pid))
		return DESCENT_NONE;
	return is_fork_of_ours(run, pid) ? DESCENT_PROVEN : DESCENT_LIKELY;
}

// ------------------------------------------------------------- what others ask

enum descent descent_of(const struct descent_run *run, pid_t pid, int claimed_fd, int *pidfd)
{
	enum descent d = DESCENT_NONE;
	errno = EPERM;
	*pidfd = pid > 0 ? pidfd_of(pid) : -1; // of a thread that is no process there is none
	if (*pidfd < 0)
		return DESCENT_NONE;
	bool ours = has_ours(run, pid, claimed_fd);
	if (ours || claimed_fd >= 0)
		d = descends(run, pid) ? DESCENT_PROVEN : ours ? of_orphan(run, pid) : DESCENT_NONE;
	bool gone = pidfd_gone(pid, *pidfd); // then its number may have been another's meanwhile
	if (d && !gone)
		return d;
	close(*pidfd);
	*pidfd = -1;
	errno = gone ? ESRCH : EPERM;
	return DESCENT_NONE;
}

void descent_note(struct descent_run *run, pid_t pid, bool proven, struct descent_image *image)
{
	image->known = proc_random(pid, image->random);
	if (image->known && proven)
		memcpy(run->random[run->images++ % DESCENT_IMAGES], image->random, sizeof(image->random));
}

bool descent_new_image(pid_t pid, const struct descent_image *image)
{
	unsigned char now[PROC_RANDOM];
	return !image->known || !proc_random(pid, now) || memcmp(image->random, now, sizeof(now));
}

int descent_init(struct descent_run *run, int region_fd, const char *region, const char *library, pid_t first)
{
	struct stat st;
	struct link l;
	int reaper = 0;
	*run = (struct descent_run){.started = UINT64_MAX}; // nobody, if this fails
	if (fstat(region_fd, &st) < 0)
		return -errno;
	run->region = file_of(&st, region);
	if (library && stat(library, &st) < 0)
		return -errno;
	if (library)
		run->library = file_of(&st, library);
	if (!read_link(first, &l))
		return -ESRCH;
	run->started = l.started;
	run->adopts = getpid() == 1 || prctl(PR_GET_CHILD_SUBREAPER, &reaper, 0, 0, 0) || reaper;
	return 0;
}
