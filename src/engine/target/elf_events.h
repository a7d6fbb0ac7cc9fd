// SPDX-License-Identifier: MIT
//
// elf_events.h - the events that an ELF file defines: those of ctp/event.h, and USDT probes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Where a USDT probe is signalled: offsets in the file.
struct elf_place {
	uint64_t at;
	uint64_t semaphore; // 0: none
	char *arguments;    // as the note has them (usdt.h)
};

struct elf_event {
	char *provider, *name;
	char *fields; // "const char *path, int status"; of a USDT probe its arguments: "u64, i32"
	char *file;   // where it is defined; NULL: a USDT probe
	uint32_t line;
	unsigned places;         // of a USDT probe, where it is signalled
	bool has_semaphore;      // of a USDT probe
	struct elf_place *place; // those of a USDT probe that lie in the file, n_place of them
	size_t n_place, place_capacity;
};

struct elf_events {
	struct elf_event *items; // by provider and name
	size_t n, capacity;
	bool native; // the file is for this machine
};

// Reads the file. 0; -ENOEXEC: it is no ELF file, -errno.
int elf_events_read(struct elf_events *e, int fd);
void elf_events_deinit(struct elf_events *e);
