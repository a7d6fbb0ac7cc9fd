// SPDX-License-Identifier: MIT
//
// probes.h - functions of the program's own that are called where its events are signalled
// (include/ctp/probe.h).
#pragma once

#include <ctp/probe.h>

#include "preload/guest/guest.h"

void probes_call(const struct ctp_event_info *event, const uint64_t *words); // no guard is taken
bool probes_want(uint32_t row);                                              // is a probe attached to it?
void probes_defined(uint32_t row); // the row is new in the region's table
void probes_forked(void);          // in a child: the table of events is a fresh one

// The program's, by include/ctp/probe.h
ctp_probe *ctp_probe_begin(const struct ctp_probe_wish *wish, int *error);
long ctp_probe_end(ctp_probe *probe);
long ctp_probe_end_group(const ctp_probe_group *group);
