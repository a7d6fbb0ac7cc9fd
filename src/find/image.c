// SPDX-License-Identifier: MIT
//
// What a process and a core have in common: mappings, and memory that is read by address.
#include "find/image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "find/image_own.h"

// Most of it is a hole, and none of it the program's.
bool image_is_region(const struct maps_line *l)
{
	return !strcmp(l->path, IMAGE_REGION);
}

int image_add_map(void *arg, const struct maps_line *l)
{
	struct image *im = arg;
	if (image_is_region(l))
		return 0;
	int e = GROW(im->maps, im->nmaps, im->maps_capacity);
	char *path = e ? NULL : strdup(l->path);
	if (!path)
		return -ENOMEM;
	im->maps[im->nmaps] = *l;
	im->maps[im->nmaps++].path = path;
	return 0;
}

void image_set_maps(struct image *im)
{
	im->memory.maps = im->maps;
	im->memory.nmaps = im->nmaps;
}

const struct maps_line *image_map(const struct image *im, uint64_t addr)
{
	return memory_map(&im->memory, addr);
}

bool image_is_code(const struct image *im, uint64_t addr)
{
	const struct maps_line *m = image_map(im, addr);
	return m && m->perms[2] == 'x';
}

// A core does not say which mapping is the first thread's stack: the kernel's random bytes lie there.
static void name_stack(struct image *im, uint64_t addr)
{
	for (size_t i = 0; i < im->nmaps; i++)
		if (addr >= im->maps[i].lo && addr < im->maps[i].hi) {
			free((char *)im->maps[i].path);
			im->maps[i].path = strdup("[stack]");
			return;
		}
}

// The random bytes that the kernel gave it: the second word is glibc's pointer guard.
void image_use_auxv(struct image *im, const uint64_t *v, size_t n)
{
	uint64_t words[2];
	for (size_t i = 0; i + 1 < n && v[i] != AT_NULL; i += 2) {
		if (v[i] == AT_ENTRY)
			im->entry = v[i + 1];
		if (v[i] == AT_RANDOM && im->core.file_bytes)
			name_stack(im, v[i + 1]);
		if (v[i] == AT_RANDOM && image_read(im, v[i + 1], words, sizeof(words)))
			im->guard = words[1];
	}
}

void image_take_regs(struct image_thread *t, const struct user_regs_struct *u)
{
#if defined(__x86_64__)
	const uint64_t regs[CTP_REGS] = {
		[CTP_REG_PC] = u->rip, [CTP_REG_SP] = u->rsp, [CTP_REG_FP] = u->rbp, [CTP_REG_S0] = u->rbx,
		[CTP_REG_S1] = u->r12, [CTP_REG_S2] = u->r13, [CTP_REG_S3] = u->r14, [CTP_REG_S4] = u->r15};
	const uint64_t args[6] = {u->rdi, u->rsi, u->rdx, u->r10, u->r8, u->r9};
	memcpy(t->regs, regs, sizeof(regs));
	const uint64_t scratch[3] = {u->rax, u->rcx, u->r11};
	memcpy(t->args, args, sizeof(args));
	memcpy(t->scratch, scratch, sizeof(scratch));
	t->nr = (long)u->rax < 0 ? (long)u->orig_rax : -1; // else it has been woken: the call gives something
	t->placed = t->whole = true;
#endif
}

void image_close(struct image *im)
{
	if (im->core.fd >= 0 || im->core.parts)
		im->memory.pid = 0; // it has no page map to close
	memory_close(&im->memory);
	for (size_t i = 0; i < im->nmaps; i++)
		free((char *)im->maps[i].path);
	image_close_files(im);
	free(im->maps);
	free(im->threads);
	corenotes_deinit(&im->notes);
	corefile_close(&im->core);
	*im = (struct image){.core = {.fd = -1}};
}

size_t image_peek(const struct image *im, uint64_t addr, void *to, size_t bytes)
{
	return im->memory.core ? image_peek_core(im, addr, to, bytes) :
				 memory_peek(&im->memory, addr, to, bytes, false);
}

size_t image_peek_touched(const struct image *im, uint64_t addr, void *to, size_t bytes)
{
	return im->memory.core ? image_peek_core(im, addr, to, bytes) :
				 memory_peek_touched(&im->memory, addr, to, bytes);
}

bool image_read(const struct image *im, uint64_t addr, void *to, size_t bytes)
{
	return image_peek(im, addr, to, bytes) == bytes;
}

bool image_word(const struct image *im, uint64_t addr, uint64_t *to)
{
	return image_read(im, addr, to, sizeof(*to));
}

void image_read_many(const struct image *im, const uint64_t *addrs, size_t n, size_t bytes, void *to,
		     bool *got)
{
	char *out = to;
	for (size_t at = 0; at < n;) {
		if (!im->memory.core) {
			at += image_read_some(im, addrs + at, n - at, bytes, out + at * bytes, got + at);
			continue;
		}
		got[at] = image_read(im, addrs[at], out + at * bytes, bytes);
		at++;
	}
}
