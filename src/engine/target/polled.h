// SPDX-License-Identifier: MIT
//
// polled.h - the descriptors for which a thread sleeps in poll or select.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ctp/ctp.h"
#include "engine/target/proc.h"

enum polled_call { POLLED_NONE, POLLED_POLL, POLLED_SELECT };
enum polled_call polled_call(int64_t nr); // of a system call

struct polled_item {
	int fd;
	unsigned events; // POLL*
};

struct polled {
	struct polled_item *v; // for free()
	size_t n;
	bool read;  // all of it
	bool known; // and it is for certain what the kernel was given
};

// What `t` gave to the poll or select in which /proc shows it. `c`: the entry of
// the thread if it is asleep in our hook, else NULL.
void polled_read(pid_t pid, const struct proc_task *t, const struct ctp_thread *c, struct polled *out);
bool polled_has(const struct polled *s, int fd);
bool polled_has_for(const struct polled *s, int fd, unsigned events); // any of these
