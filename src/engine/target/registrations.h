// SPDX-License-Identifier: MIT
//
// registrations.h - epoll registrations: the rows that fdinfo shows of each epoll set.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct registration {
	int epfd, tfd;
	uint32_t events;
	uint32_t nth; // among the rows of this number in this set
	uint64_t data, ino;
	uint64_t dev; // the kernel's form: major << 20 | minor
	// of its file, once it has been asked for (kernel.c): that does not change
	enum {
		REGISTRATION_NOT_ASKED,
		REGISTRATION_NUMBERS,
		REGISTRATION_ANOTHERS,
		REGISTRATION_UNKNOWN
	} file;        // that of its number; another; not known
	bool anew;     // NUMBERS: opened by a call that makes a new description
	uint64_t desc; // NUMBERS: which description it is
};

struct registrations {
	struct registration *v;
	size_t n;
	int *sets; // descriptors of epoll sets
	size_t nsets;
	size_t uring;   // contexts of io_uring, and of AIO
	bool userfault; // the process has a userfaultfd: it may serve page faults of its own
	size_t fds;     // descriptors in all
	bool complete;  // false: more rows than the limit, or something could not be read
	bool denied;    // /proc/PID/fd could not be read at all
	bool too_many;  // so many that they were not read at all
};

// Reads all epoll sets of the process; `limit` rows (0 = no limit, the caller
// checks beforehand what a set may hold: the kernel makes all rows of a set
// at once). 0 or -errno.
int registrations_read(pid_t pid, size_t limit, uint64_t deadline_ns, struct registrations *out);
void registrations_deinit(struct registrations *r);
// How many io_uring contexts the process has open, as far as can be seen.
size_t registrations_rings(pid_t pid, uint64_t deadline_ns);

// Only the numbers of its epoll sets. 0 or -errno; deinit either way.
int registrations_list(pid_t pid, uint64_t deadline_ns, struct registrations *out);

// Is the row's file the one that number `fd` of the process has open now?
// 1 yes, 0 no (or not open), -1 cannot be told.
int registrations_is_open_as(pid_t pid, const struct registration *reg, int fd);

// A process that has one of this process's epoll sets open, too (a child that inherited it), and our number
// of the set. 0: none; -1: that cannot be told.
pid_t registrations_sharer(pid_t pid, uint64_t deadline_ns, int *epfd);

// st_dev as the kernel shows it in fdinfo.
uint64_t registrations_dev(uint64_t st_dev);
