// SPDX-License-Identifier: MIT
//
// code_files.h - the files of a program's code: itself and its libraries.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct code_files {
	char **paths;
	uint64_t *inodes; // 0: not known
	size_t n, capacity, inodes_capacity;
};

// Adds those of the program or library that fd is open on, under the path `path`. 0 or -errno.
int code_files_of_program(struct code_files *m, int fd, const char *path);
// Adds those that a process has mapped, by the paths that it knows them by. 0 or -errno.
int code_files_of_process(struct code_files *m, pid_t pid);
void code_files_deinit(struct code_files *m);
