// SPDX-License-Identifier: MIT
//
// silent_peers.h - coroutines that wait for a descriptor of which all is in order, and whose peer says
// nothing.
#pragma once

#include "analyze/report/finding.h"

// The longest of each place first, a few of them; after accounting_count(). 0 or -errno.
int silent_peers_facts(struct report *r);
