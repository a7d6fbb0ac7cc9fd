// SPDX-License-Identifier: MIT
//
// A program may switch stacks by code of its own that no symbol names: it is stripped, or inlined. Such code
// is known by its shape: the stack pointer is stored, in memory that is not the function's own frame or in a
// register, and soon another one is loaded, in a straight line (find/recipe.h). In 3,191 files of Debian's
// that shape is found in the eight that have a coroutine library, and in no other. Code that only restores (a
// longjmp of its own) is not looked for: runtimes of languages have it for their exceptions. Files are the
// target's: their contents are not trusted, and may change while they are read.
#include "engine/coverage/switch_code.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "find/recipe.h"

enum { PIECE = 1 << 16, HEADERS_MOST = 64 };

// Of an instruction with REX.W: 89 /4, which stores rsp, but in memory relative to rsp, rbp or rip, and but
// in rbp.
static bool stores_sp(const unsigned char *p)
{
	unsigned mod = p[2] >> 6, reg = p[2] >> 3 & 7, rm = p[2] & 7;
	if ((p[0] & 0xfe) != 0x48 || p[1] != 0x89 || reg != 4)
		return false;
	bool low = !(p[0] & 1);
	return rm != 4 && !(rm == 5 && (low || !mod));
}

static size_t look(const unsigned char *bytes, size_t n, size_t end, const Elf64_Phdr *ph, uint64_t first,
		   uint64_t offset, struct switch_code *out, size_t most)
{
	size_t found = 0;
	for (size_t i = 0; i < n && found < most; i++) {
		const unsigned char *p = memchr(bytes + i, 0x89, n - i);
		if (!p)
			break;
		i = (size_t)(p - bytes);
		if (!i || end - i < 2 || !stores_sp(p - 1))
			continue;
		size_t left = end - i + 1;
		if (!recipe_switches(p - 1, left < RECIPE_CODE_MOST ? left : RECIPE_CODE_MOST))
			continue;
		uint64_t at = offset + i - 1;
		out[found++] = (struct switch_code){ph->p_vaddr + (at - ph->p_offset) - first, at};
	}
	return found;
}

static size_t segment(int fd, const Elf64_Phdr *ph, uint64_t first, unsigned char *bytes,
		      struct switch_code *out, size_t most)
{
	size_t found = 0;
	for (uint64_t at = 0; at < ph->p_filesz && found < most; at += PIECE) {
		uint64_t left = ph->p_filesz - at, want = PIECE + RECIPE_CODE_MOST;
		ssize_t got = pread(fd, bytes, left < want ? left : want, (off_t)(ph->p_offset + at));
		if (got <= 0)
			break;
		size_t n = (size_t)got < PIECE + 1 ? (size_t)got :
						     PIECE + 1; // the 0x89 of one that begins at the end
		found += look(bytes, n, (size_t)got, ph, first, ph->p_offset + at, out + found, most - found);
	}
	return found;
}

size_t switch_code_read(int fd, struct switch_code *out, size_t most)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph[HEADERS_MOST];
	uint64_t first = UINT64_MAX;
	size_t found = 0;
	if (pread(fd, &eh, sizeof(eh), 0) != sizeof(eh) || memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_machine != EM_X86_64 || eh.e_phnum > HEADERS_MOST ||
	    eh.e_phentsize != sizeof(*ph) ||
	    pread(fd, ph, eh.e_phnum * sizeof(*ph), (off_t)eh.e_phoff) != (ssize_t)(eh.e_phnum * sizeof(*ph)))
		return 0;
	for (unsigned i = 0; i < eh.e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && ph[i].p_vaddr < first)
			first = ph[i].p_vaddr;
	unsigned char *bytes = malloc(PIECE + RECIPE_CODE_MOST);
	for (unsigned i = 0; bytes && i < eh.e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && (ph[i].p_flags & PF_X) && ph[i].p_filesz < UINT32_MAX)
			found += segment(fd, &ph[i], first & ~4095ULL, bytes, out + found, most - found);
	free(bytes);
	return found;
}
