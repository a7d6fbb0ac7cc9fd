// SPDX-License-Identifier: MIT
//
// sockets_asked.h - what waits in sockets of the internet, asked of each of the process's own.
#pragma once

#include "engine/stored/queues.h"

struct sockets_asked {
	bool others;      // there are sockets of other families, or such as could not be asked
	bool inet, empty; // there are such of the internet; nothing waits in any of them
};

// Marks those as seen in which nothing waits, if that is so of all of the internet.
struct sockets_asked sockets_ask(struct queues *q);
