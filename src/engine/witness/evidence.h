// SPDX-License-Identifier: MIT
//
// evidence.h - writes the results of an inspection: witness.jsonl.
#pragma once

#include <stdio.h>

#include "engine/inspect/inspect.h"

// Writes one line about `s`, unless it says what the last one about it said.
void evidence_write(FILE *out, const struct inspection *l, struct suspect *s, uint64_t ns, const char *look);
// `127.0.0.1:8080 <- 127.0.0.1:51122` and the like; "" if there is no name.
void evidence_fd_name(const struct ctp_cand *c, char *name, size_t bytes);
const char *evidence_fd_kind(unsigned kind);
