// SPDX-License-Identifier: MIT
//
// must.h - for the target programs: a call that fails ends the program with
// status 99 and says which it was; and the descriptors they play with.
#pragma once

#include <stddef.h>

#define must(expr) must_at((long)(expr), #expr, __FILE__, __LINE__)
long must_at(long r, const char *expr, const char *file, int line);
void *must_alloc(size_t bytes);
void *must_map(size_t bytes);

void say(const char *line); // one line on stdout, at once
void nap_ms(int ms);       // in naps of a millisecond: a program that is stopped meanwhile only takes longer
void until_reads(int tid); // waits until that thread of ours is in a call of read

// A non-blocking descriptor to wait on, fds[0], and the end that feeds it,
// fds[1]. kind: "pipe", "unix", "tcp", "udp", "eventfd" (both the same).
void pair(const char *kind, int fds[2]);
int tcp_listen(int *port); // 127.0.0.1, an ephemeral port
int tcp_connect(int port);
