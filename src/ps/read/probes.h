// SPDX-License-Identifier: MIT
//
// probes.h - programs with probes of cTP version 1 in them, and without libctp.so.
#pragma once

#include "ps/read/tables.h"

// Does a mapping of `bytes` hold the version-1 part of the region, and nobody but probes write to it? Then
// the rest of *h, of which the process maps nothing, is cleared.
bool probes_alone(struct ctp_header *h, uint64_t bytes);
// Their stations, as coroutines without stacks: id is the station's number + 1, entry what the probe gave as
// address, thread a tid. 0 or -errno.
int probes_read(struct tables *t, const struct found *f);
