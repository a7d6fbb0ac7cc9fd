// SPDX-License-Identifier: MIT
//
// The file is opened as the process sees it (/proc/PID/root), and counts only if it is the one that is
// mapped: it may have been replaced on disk since.
#include "engine/attach/symbol.h"

#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/living.h"
#include "base/maps.h"

struct sought {
	pid_t pid;
	const char *file;
	struct stat own; // of an absolute path
	bool absolute, found;
	uint64_t base;
	char path[PATH_MAX + 64];
	struct maps_line at;
};

static int each(void *arg, const struct maps_line *m)
{
	struct sought *s = arg;
	const char *slash = strrchr(m->path, '/');
	if (*m->path != '/' || m->offset)
		return 0;
	if (s->absolute ? m->ino != s->own.st_ino || makedev(m->major, m->minor) != s->own.st_dev :
			  strncmp(slash + 1, s->file, strlen(s->file)) != 0)
		return 0;
	s->found = true;
	s->base = m->lo;
	s->at = *m;
	snprintf(s->path, sizeof(s->path), "/proc/%d/root%s", (int)living_of(s->pid), m->path);
	return 1;
}

static bool find(struct sought *s, pid_t pid, const char *file)
{
	*s = (struct sought){.pid = pid, .file = file, .absolute = *file == '/'};
	if (s->absolute && stat(file, &s->own))
		return false;
	maps_each(pid, each, s);
	return s->found;
}

// The address of the file's first loaded byte, as it was linked.
static uint64_t linked_base(Elf *elf)
{
	size_t n = 0;
	GElf_Phdr p;
	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD)
			return p.p_vaddr & ~4095ULL;
	return 0;
}

static uint64_t in_section(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, const char *name)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = data && sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;
	GElf_Sym sym;
	for (size_t i = 0; i < n; i++) {
		const char *is = gelf_getsym(data, (int)i, &sym) ? elf_strptr(elf, sh->sh_link, sym.st_name) :
								   NULL;
		if (is && sym.st_value && GELF_ST_TYPE(sym.st_info) == STT_FUNC && !strcmp(is, name))
			return sym.st_value;
	}
	return 0;
}

static uint64_t in_file(int fd, const char *name)
{
	Elf *elf = elf_version(EV_CURRENT) == EV_NONE ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	uint64_t at = 0, from = elf ? linked_base(elf) : 0;
	GElf_Shdr sh;
	for (Elf_Scn *scn = NULL; elf && !at && (scn = elf_nextscn(elf, scn));)
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_DYNSYM)
			at = in_section(elf, scn, &sh, name);
	elf_end(elf);
	return at ? at - from : 0;
}

uint64_t symbol_address(pid_t pid, const char *file, const char *name)
{
	struct sought s;
	struct stat st;
	if (!find(&s, pid, file))
		return 0;
	int fd = open(s.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool same = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_ino == s.at.ino;
	uint64_t at = same ? in_file(fd, name) : 0;
	if (fd >= 0)
		close(fd);
	return at ? s.base + at : 0;
}

bool symbol_mapped(pid_t pid, const char *file)
{
	struct sought s;
	return find(&s, pid, file);
}
