// SPDX-License-Identifier: MIT
//
// fake_image.h - an image of this process with two mappings alone: code that a test has written by hand, which nobody runs,
// and data behind it. The code has functions of 64 bytes each.
#pragma once

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "find/objects.h"

enum { FAKE_PAGE = 4096, FAKE_FUNCTION = 64, FAKE_FUNCTIONS = FAKE_PAGE / FAKE_FUNCTION };

struct fake_image {
	struct image image;
	struct maps_line maps[2];
	unsigned char *code, *data;
	struct object object;
	struct objects objects;
	int32_t rows[2 * FAKE_FUNCTIONS];
	uint32_t lengths[FAKE_FUNCTIONS];
	char path[32];
};

static inline void fake_image_open(struct fake_image *f, const char *path)
{
	memset(f, 0, sizeof(*f));
	f->code = mmap(NULL, 3 * FAKE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(f->code, MAP_FAILED);
	f->data = f->code + 2 * FAKE_PAGE;
	assert_int_equal(mprotect(f->code + FAKE_PAGE, FAKE_PAGE, PROT_NONE), 0);
	memset(f->code, 0x90, FAKE_PAGE);
	uint64_t lo = (uintptr_t)f->code;
	strcpy(f->path, path);
	f->maps[0] = (struct maps_line){.lo = lo, .hi = lo + FAKE_PAGE, .perms = "r-xp", .ino = 1, .path = f->path};
	f->maps[1] = (struct maps_line){.lo = lo + 2 * FAKE_PAGE, .hi = lo + 3 * FAKE_PAGE, .perms = "rw-p", .path = f->path + strlen(path)};
	memory_of_process(&f->image.memory, getpid());
	f->image.pid = getpid();
	f->image.memory.deadline_ns = UINT64_MAX;
	f->image.memory.maps = f->image.maps = f->maps;
	f->image.memory.nmaps = f->image.nmaps = 2;
	for (int i = 0; i < FAKE_FUNCTIONS; i++) {
		f->rows[2 * i] = i * FAKE_FUNCTION;
		f->lengths[i] = FAKE_FUNCTION;
	}
	f->object = (struct object){.path = f->path, .lo = lo, .hi = lo + FAKE_PAGE, .hdr = lo, .rows = f->rows, .nrows = FAKE_FUNCTIONS,
				    .lengths = f->lengths, .looked = true, .dyn = true};
	f->objects = (struct objects){.image = &f->image, .v = &f->object, .n = 1};
}

static inline void fake_image_close(struct fake_image *f)
{
	memory_close(&f->image.memory);
	munmap(f->code, 3 * FAKE_PAGE);
}

static inline uint64_t fake_function(const struct fake_image *f, int i)
{
	return (uintptr_t)f->code + (uint64_t)i * FAKE_FUNCTION;
}

static inline uint64_t fake_put(struct fake_image *f, uint64_t at, const void *bytes, size_t n)
{
	memcpy(f->code + (at - (uintptr_t)f->code), bytes, n);
	return at + n;
}

// An instruction of one opcode byte that leads to `to`, at `at`. What follows it.
static inline uint64_t fake_leads(struct fake_image *f, uint64_t at, unsigned char opcode, uint64_t to)
{
	int32_t far = (int32_t)(to - (at + 5));
	fake_put(f, at, &opcode, 1);
	return fake_put(f, at + 1, &far, sizeof(far));
}

enum { FAKE_CALL = 0xe8, FAKE_JUMP = 0xe9 };
