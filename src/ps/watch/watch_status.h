// SPDX-License-Identifier: MIT
//
// watch_status.h - which suspended coroutines are pooled, and which are ready.
#pragma once

#include "ps/model/report.h"
#include "ps/watch/watch_model.h"

// Sets c.status of all rows to pooled or not. 0 or -errno.
int watch_status_pooled(const struct report *r, struct watch_model *m);
// Whether each of these is ready now. 0 or -errno.
int watch_status_ready(const struct report *r, struct watch_row *const *rows, size_t n, bool *ready);
