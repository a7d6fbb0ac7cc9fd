// SPDX-License-Identifier: MIT
//
// sock_diag.h - the kernel's socket diagnosis (sock_diag(7)) of the network that a process is in.
#pragma once

#include <linux/netlink.h>
#include <stddef.h>
#include <sys/types.h>

// A descriptor; -1: there is none, or the process is in another network than we.
int sock_diag_open(pid_t pid);
void sock_diag_close(int s);

// Calls each(ctx, message) for each socket, until that is not 0, which is returned. 0: that was all. -1: the
// kernel does not tell, or not all of it. After anything but 0, nothing more can be asked here of what was
// not read: another dump begins anew.
int sock_diag_dump(int s, const void *request, size_t bytes, int (*each)(void *ctx, const struct nlmsghdr *h),
		   void *ctx);
