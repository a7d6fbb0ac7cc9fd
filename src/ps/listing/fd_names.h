// SPDX-License-Identifier: MIT
//
// fd_names.h - descriptors and epoll registrations of a process that was never traced, or as they
// were saved beside its core.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct listing_fds;

struct listing_epoll { // one registration
	int epfd, fd;  // fd: the number that it was made with
	uint32_t events;
	uint64_t data;
	bool stale; // this number is not open, or is something else now
};

// `folder`: /proc/PID, or one that is laid out so. 0 or -errno.
int listing_fds_read(struct listing_fds **out, const char *folder);
void listing_fds_free(struct listing_fds *f);
const struct listing_epoll *listing_fds_rows(const struct listing_fds *f, size_t *n); // by epfd, then by fd
// Does some descriptor's link begin so? Of it, what the kernel holds is not shown ("anon_inode:[io_uring").
bool listing_fds_any(const struct listing_fds *f, const char *begins);
// The values that the kernel gives to handlers of the process's timers. How many; `out` has room for `most`.
size_t listing_fds_timers(const struct listing_fds *f, uint64_t *out, size_t most);
// What a descriptor is: tcp, pipe ..., and its name ("" if there is none). *kind NULL: it is not open.
void listing_fds_describe(struct listing_fds *f, int fd, const char **kind, char *name, size_t bytes);
