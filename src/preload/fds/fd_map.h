// SPDX-License-Identifier: MIT
//
// fd_map.h - from (epoll set, epoll_data) to the descriptor that was registered so.
#pragma once

#include "preload/fds/fds.h"

void fd_map_init(void); // the region is a fresh one: forgets all
void fd_map_add(int epfd, uint64_t data, int fd, uint32_t gen);
// The descriptor, or -1: unknown, or more than one live one has this data.
int fd_map_find(int epfd, uint64_t data);
// The same for a registration whose descriptor has ended since; -1 if a live one has this data.
int fd_map_find_ended(int epfd, uint64_t data);
