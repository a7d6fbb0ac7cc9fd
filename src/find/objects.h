// SPDX-License-Identifier: MIT
//
// objects.h - the program and its libraries as they are mapped: where their functions begin and
// end, by their unwind tables, and what they export.
#pragma once

#include "find/image.h"
#include "search/memory/span.h"

enum { OBJECT_BUILD_ID = 32 };

struct object {
	const char *path;      // the image's
	uint64_t lo, hi;       // all its mappings
	uint64_t bias;         // address - bias: as in the file
	uint64_t dynamic, hdr; // addresses; 0: there is none
	uint64_t entry;
	unsigned char build_id[OBJECT_BUILD_ID];
	size_t build_id_len;
	int32_t *rows; // of .eh_frame_hdr: pairs of function and FDE, by hdr
	size_t nrows;
	uint32_t *lengths; // of the functions, by row; 0: not read yet. NULL: they are not kept
	bool looked;       // rows are there, if they can be
	// of .dynamic, once `dyn` says so
	uint64_t symtab, strtab, strsz, hash;
	bool dyn;
};

struct objects {
	const struct image *image;
	struct object *v; // by address
	size_t n, capacity;
};

int objects_read(struct objects *o, const struct image *im); // 0 or -ENOMEM
void objects_deinit(struct objects *o);
struct object *objects_at(const struct objects *o, uint64_t addr); // or NULL
// The function that `addr` lies in. False: no unwind information says so.
bool objects_function(const struct objects *o, uint64_t addr, struct span *out);
// The address of an exported function; 0: it has none of that name.
uint64_t objects_symbol(const struct objects *o, struct object *of, const char *name);
