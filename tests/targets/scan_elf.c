// SPDX-License-Identifier: MIT
//
// scan_elf.c: reads names of files, a line each, and looks through the code of those that are
// ELF files of this CPU as libctp.so does. Prints a line for each body of a switch function that
// it finds, and last how many files and bytes it has seen, and the candidates among them.
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "entry.h"
#include "preload/patch/match.h"

static uint64_t files, bytes, candidates;

static void code(const char *path, uint8_t *lo, uint8_t *hi)
{
	struct match m[64];
	size_t n = match_all(lo, hi, m, 64);
	for (size_t i = 0; i < n; i++)
		printf("%s: %s, family %d%s\n", path, m[i].row->kind, m[i].row->family, m[i].broken ? ", broken" : "");
	cpu_scan *next = cpu_next_sp_best();
	for (const uint8_t *p = lo; (p = next(p, hi)) < hi; p++)
		candidates++;
	bytes += (uint64_t)(hi - lo);
}

static void scan(const char *path, uint8_t *at, size_t size)
{
	Elf64_Ehdr eh;
	if (size < sizeof(eh))
		return;
	memcpy(&eh, at, sizeof(eh));
	if (memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_machine != EM_X86_64 || eh.e_phoff > size || size - eh.e_phoff < eh.e_phnum * sizeof(Elf64_Phdr))
		return;
	files++;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		Elf64_Phdr ph;
		memcpy(&ph, at + eh.e_phoff + i * sizeof(ph), sizeof(ph));
		if (ph.p_type == PT_LOAD && (ph.p_flags & PF_X) && ph.p_offset <= size &&
		    ph.p_filesz <= size - ph.p_offset)
			code(path, at + ph.p_offset, at + ph.p_offset + ph.p_filesz);
	}
}

int main(void)
{
	char path[4096];
	while (fgets(path, sizeof(path), stdin)) {
		path[strcspn(path, "\n")] = '\0';
		struct stat st;
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		void *at = !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size ?
				   mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) :
				   MAP_FAILED;
		if (at != MAP_FAILED) {
			scan(path, at, (size_t)st.st_size);
			munmap(at, (size_t)st.st_size);
		}
		close(fd);
	}
	printf("files %" PRIu64 " bytes %" PRIu64 " candidates %" PRIu64 "\n", files, bytes, candidates);
}
