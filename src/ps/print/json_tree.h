// SPDX-License-Identifier: MIT
//
// json_tree.h - the tree and who waits for whom, as JSON.
#pragma once

#include "ps/model/report.h"

// `"tree": [...], "waits_for": [...], "cycles": [...]`, without a comma before it. 0 or -errno.
int json_tree_write(FILE *to, const struct report *r);
