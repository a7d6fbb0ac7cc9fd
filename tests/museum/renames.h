// SPDX-License-Identifier: MIT
//
// renames.h - a file service whose directories have locks. A rename locks the directory that
// it takes from, reads it by way of a pipe, and locks the one that it puts into. Two renames
// cross. The exhibit has the lock.
#pragma once

#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

struct fiber_mutex {
	struct co *holder;
	struct co *waiting[4];
	unsigned count;
};

struct directory {
	struct fiber_mutex mutex;
	char names[4][16];
};

struct rename_job {
	struct directory *from, *to;
	const char *name;
	int disk;
};

static int ep, disks[3][2], renamed;

static void lock(struct fiber_mutex *m); // the exhibit's

static void unlock(struct fiber_mutex *m)
{
	struct co *next = m->count ? m->waiting[0] : NULL;
	m->holder = NULL;
	if (!next)
		return;
	memmove(m->waiting, m->waiting + 1, --m->count * sizeof(m->waiting[0]));
	m->waiting[m->count] = NULL;
	co_resume(next);
}

static void read_disk(int disk)
{
	char block[8];
	must(co_read(ep, disk, block, sizeof(block)));
	must(epoll_ctl(ep, EPOLL_CTL_DEL, disk, NULL));
}

static void move_name(struct directory *from, struct directory *to, const char *name)
{
	for (int i = 0; i < 4; i++)
		if (!strcmp(from->names[i], name)) {
			memcpy(to->names[i], from->names[i], sizeof(to->names[i]));
			from->names[i][0] = 0;
		}
}

static void do_rename(void *arg)
{
	struct rename_job job = *(struct rename_job *)arg;
	lock(&job.from->mutex);
	read_disk(job.disk);
	if (job.to != job.from)
		lock(&job.to->mutex);
	move_name(job.from, job.to, job.name);
	if (job.to != job.from)
		unlock(&job.to->mutex);
	unlock(&job.from->mutex);
	renamed++;
}

static NOINLINE void begin(void)
{
	struct directory *music = must_alloc(sizeof(*music)), *attic = must_alloc(sizeof(*attic));
	struct directory *inbox = must_alloc(sizeof(*inbox));
	struct rename_job jobs[] = {{music, attic, "lute", disks[0][0]},
				    {attic, music, "harp", disks[1][0]},
				    {inbox, inbox, "fife", disks[2][0]}};
	strcpy(music->names[0], "lute");
	strcpy(attic->names[1], "harp");
	for (int i = 0; i < 3; i++)
		co_start(do_rename, &jobs[i]);
	memset(jobs, 0, sizeof(jobs));
	__asm__ volatile("" : : "r"(jobs) : "memory");
}

// Two renames cross, and a third one, in a directory of its own, is done.
static NOINLINE void cross(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 3; i++)
		pair("pipe", disks[i]);
	begin();
	for (int i = 0; i < 3; i++) {
		must(write(disks[i][1], "block", 5));
		co_turn(ep, -1);
	}
	must(renamed == 1 ? 0 : -1);
}
