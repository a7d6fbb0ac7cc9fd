// SPDX-License-Identifier: MIT
//
// A slot is owned by the process that holds its lock, which the kernel releases however that
// process ends. The names are few, so leftovers are found without reading the parent
// directory, which may be large. Between mkdir and flock a slot looks like a leftover and may
// be removed by another run: a lock counts only if the name still refers to the directory
// that was locked.
#include "engine/record/slot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "engine/record/tree.h"

enum { SLOTS = 64, ROUNDS = 500 };

// Where the file system has no locks: whoever made it has it, and nobody sweeps.
static bool lock(int dir, bool made)
{
	return !flock(dir, LOCK_EX | LOCK_NB) || (made && errno != EWOULDBLOCK);
}

// Opens and locks what has the name. False: there is none, it is not ours, or somebody holds it.
static bool hold(struct slot *s, int parent, bool made)
{
	struct stat is, named;
	s->dir = openat(parent, s->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (s->dir < 0)
		return false;
	if (!fstat(s->dir, &is) && is.st_uid == geteuid() && lock(s->dir, made) &&
	    !fstatat(parent, s->name, &named, AT_SYMLINK_NOFOLLOW) && named.st_dev == is.st_dev &&
	    named.st_ino == is.st_ino)
		return true;
	close(s->dir);
	s->dir = -1;
	return false;
}

static void set_name(struct slot *s, uid_t owner, unsigned k)
{
	s->dir = -1;
	snprintf(s->name, sizeof(s->name), ".ctp-new-%u-%u", (unsigned)owner, k);
}

int slot_take(struct slot *s, int parent)
{
	const struct timespec nap = {.tv_nsec = 1000000};
	uid_t owner = geteuid();
	for (unsigned i = 0; i < ROUNDS * SLOTS;
	     i++) { // a slot is held for a moment only, but for old traces in it
		if (i && i % SLOTS == 0) {
			slot_sweep(parent);
			nanosleep(&nap, NULL);
		}
		set_name(s, owner, i % SLOTS);
		if (!mkdirat(parent, s->name, 0700)) {
			if (hold(s, parent, true))
				return 0;
		} else if (errno != EEXIST) {
			return -errno;
		}
	}
	s->dir = -1;
	return -EBUSY;
}

// Only what a slot may hold: if there is anything else in it, somebody put it there, and it stays.
void slot_drop(struct slot *s, int parent)
{
	if (s->dir < 0)
		return;
	tree_remove(s->dir, SLOT_SOCKET);
	tree_remove(s->dir, SLOT_CONTROL);
	tree_remove(s->dir, SLOT_ALIAS);
	tree_remove(s->dir, SLOT_TRACE);
	tree_remove(s->dir, SLOT_AWAY);
	unlinkat(parent, s->name, AT_REMOVEDIR);
	close(s->dir);
	s->dir = -1;
}

void slot_drop_empty(struct slot *s, int parent)
{
	if (s->dir < 0 || unlinkat(parent, s->name, AT_REMOVEDIR))
		return;
	close(s->dir);
	s->dir = -1;
}

void slot_sweep(int parent)
{
	struct slot s;
	uid_t owner = geteuid();
	for (unsigned k = 0; k < SLOTS; k++) {
		set_name(&s, owner, k);
		if (hold(&s, parent, false))
			slot_drop(&s, parent);
	}
}
