// SPDX-License-Identifier: MIT
//
// own_memory.h - this process's own memory, as the search reads it.
#pragma once

#include <unistd.h>

#include "engine/target/proc.h"
#include "search/memory/memory.h"

struct own {
	struct proc_maps maps;
	struct memory memory;
};

static inline void own_open(struct own *o)
{
	assert_int_equal(proc_maps_read(getpid(), &o->maps), 0);
	memory_of_process(&o->memory, getpid());
	o->memory.maps = o->maps.v;
	o->memory.nmaps = o->maps.n;
	o->memory.deadline_ns = UINT64_MAX;
}

static inline void own_close(struct own *o)
{
	memory_close(&o->memory);
	proc_maps_deinit(&o->maps);
}
