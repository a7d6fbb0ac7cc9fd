// SPDX-License-Identifier: MIT
//
// site.h - where a coroutine is suspended: the addresses of a stack that the region holds, and the name that
// one of them has without debug information.
#pragma once

#include <stddef.h>

#include "ctp/region.h"

// The return addresses of a recorded stack, innermost first: how many, `max` at most. 0: it is not there.
size_t site_pcs(const struct ctp_region *r, uint32_t stack, uint64_t *pcs, size_t max);
// "server+0x1234"; "" if no module has this address.
void site_name(const struct ctp_region *r, uint64_t pc, char *out, size_t bytes);
