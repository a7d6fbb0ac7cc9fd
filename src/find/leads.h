// SPDX-License-Identifier: MIT
//
// leads.h - to which coroutine does the data of an epoll registration lead?
#pragma once

#include "find/contexts.h"

#define LEADS_NOWHERE UINT32_MAX

// to[i]: index in c->v of the one that data[i] leads to; LEADS_NOWHERE: none, or several. 0 or -ENOMEM.
int leads_find(const struct contexts *c, const uint64_t *data, size_t n, uint32_t *to);
