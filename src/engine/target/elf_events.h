// SPDX-License-Identifier: MIT
//
// elf_events.h - the events that an ELF file defines: those of ctp/event.h, and USDT probes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_event {
	char *provider, *name;
	char *fields; // "const char *path, int status"; of a USDT probe its arguments: "u64, i32"
	char *file;   // where it is defined; NULL: a USDT probe
	uint32_t line;
	unsigned places;    // of a USDT probe, where it is signalled
	bool has_semaphore; // of a USDT probe
};

struct elf_events {
	struct elf_event *items; // by provider and name
	size_t n, capacity;
};

// Reads the file. 0; -ENOEXEC: it is no ELF file, -errno.
int elf_events_read(struct elf_events *e, int fd);
void elf_events_deinit(struct elf_events *e);
