// SPDX-License-Identifier: MIT
//
// object.h - a loaded ELF object, read from its own memory: where its code is, what it exports.
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct object {
	const struct link_map *map;
	const ElfW(Phdr) * ph;
	unsigned nph;
	uint64_t base;       // load bias
	uint64_t start, end; // from its first segment to its last
	bool program;        // the executable itself
};

struct object_id {
	uint32_t bytes;
	uint8_t id[32];
};

// False: its headers are not to be found.
bool object_read(struct object *o, const struct link_map *m);

// The next piece of code from *at on (0: the first). False: there is none.
bool object_code(const struct object *o, unsigned *at, uint8_t **lo, uint8_t **hi);

// Is that an address of its code?
bool object_in_code(const struct object *o, uint64_t at);

// The function that it exports under this name; NULL: none.
uint8_t *object_export(const struct object *o, const char *name);

// Can that be told?
bool object_tells_exports(const struct object *o);

// Its build id; false: it has none, or a longer one.
bool object_build_id(const struct object *o, struct object_id *id);
