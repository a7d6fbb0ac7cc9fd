// SPDX-License-Identifier: MIT
//
// scripts.h - in which functions of a script coroutines are suspended. Written to scripts.jsonl
// (spec/trace.md).
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "ctp/region.h"

struct scripts;

// *r must outlive it. NULL if out of memory.
struct scripts *scripts_new(const struct ctp_region *r, pid_t pid);
void scripts_free(struct scripts *s); // takes NULL
// Is it time to look? Never where no interpreter is that is known. The last look is always due.
bool scripts_due(struct scripts *s, uint64_t now_ns, bool last);
// Writes a line for each that is suspended and has none yet: of live looks, only of those that were suspended
// at the look before, too. Until `until_ns` at most; `now_ns` as in scripts_due.
void scripts_look(struct scripts *s, FILE *out, uint64_t now_ns, bool last, uint64_t until_ns);
