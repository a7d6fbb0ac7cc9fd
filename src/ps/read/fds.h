// SPDX-License-Identifier: MIT
//
// fds.h - what a process's descriptors are.
#pragma once

#include "ps/read/find.h"
#include "ps/read/groups.h"

struct fds; // of one process

struct fds_one {
	int open;         // 1: this generation is the present one, and open; 0: it is not; -1: not known
	const char *kind; // words_kind, or NULL if it is not open
	char name[192];   // addresses, path; "" if there is none
};

int fds_new(struct fds **out, const struct found *f); // 0 or -ENOMEM
void fds_free(struct fds *f);
// Copies the rows of what these wait for; `every`: and of all that is open. 0 or -errno.
int fds_read(struct fds *f, const struct coroutine *all, size_t n, bool every);
// The copy, or NULL. The i-th of them by number, whose number is *fd; NULL at the end.
const struct ctp_fd *fds_row(const struct fds *f, int32_t fd);
const struct ctp_fd *fds_at(const struct fds *f, size_t i, int32_t *fd);
// The other end of a connection within the program, by its addresses: -1 if there is none. After
// fds_read(every).
int32_t fds_partner(struct fds *f, int32_t fd);
// Is `fd` with this generation open? As fds_one.open; *kind is then set as there.
int fds_open(const struct fds *f, int32_t fd, uint32_t gen, const char **kind);
// What it is now.
void fds_describe(struct fds *f, int32_t fd, uint32_t gen, struct fds_one *out);
