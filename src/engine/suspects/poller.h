// SPDX-License-Identifier: MIT
//
// poller.h - who sleeps until an epoll set has an event: a thread in a wait on the set, or on another
// descriptor of it, or on a set in which it is registered, or in poll or select with the set among its
// descriptors.
#pragma once

#include "engine/inspect/inspect.h"

enum { POLLER_NESTED_MAX = 5 }; // sets within sets: the kernel's EP_MAX_NESTS + 1

// The thread's id; 0: none. One that is held within such a wait counts.
int poller(const struct inspection *l, int epfd);
