// SPDX-License-Identifier: MIT
//
// fuzz.h - one reader and its inputs. libFuzzer and AFL++ know the first function; driver.c runs it alone.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define FUZZ_MOST (512u << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
extern const char fuzz_name[];

// A folder of this process's own, made at the first call; fuzz_clean takes away that of a process that has ended.
const char *fuzz_folder(void);
void fuzz_clean(pid_t pid);
// Takes away what is in a folder, and the folder.
void fuzz_remove(const char *folder);
// Writes a file of that folder; its path, until the next call.
const char *fuzz_file(const char *name, const void *data, size_t bytes);
// Where reports go.
FILE *fuzz_nowhere(void);
