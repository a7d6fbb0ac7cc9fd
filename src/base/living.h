// SPDX-License-Identifier: MIT
//
// living.h - looking into a process whose first thread may have ended.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

// The number under which the kernel shows what the process has: memory, descriptors, root, namespaces. It is
// `pid`, or, once its first thread has ended (pthread_exit in main) and others run on, one of theirs: what
// /proc/PID and kcmp(2) say by `pid` is then empty. Numbers that the process itself goes by (stat, status,
// signals) stay those of `pid`. errno stays as it was.
pid_t living_of(pid_t pid);

// process_vm_readv(2) and process_vm_writev(2) of such a process.
ssize_t living_read(pid_t pid, const struct iovec *here, size_t nhere, const struct iovec *there,
		    size_t nthere);
ssize_t living_write(pid_t pid, const struct iovec *here, size_t nhere, const struct iovec *there,
		     size_t nthere);

// A pidfd for pidfd_getfd(2) of its descriptors, or -1.
int living_pidfd(pid_t pid);
