// SPDX-License-Identifier: MIT
//
// Reads the first bytes of a program, as the kernel and the loader will. It is called between vfork and exec,
// in signal handlers, and on small stacks: so it makes only system calls that the loader makes, too, and
// keeps nothing. If anything is not as expected, the image counts as fine: exec itself will report what is
// wrong.
#include "preload/guest/exec_image.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "cpu.h"

enum { HEAD = 256, BLOCK = 256, DEPTH = 4, SEGMENTS = 64, ENTRIES = 1024, NAME = 24 };

// What was read last: headers lie side by side.
struct block {
	int fd;
	long n;
	uint64_t at;
	char bytes[BLOCK];
};

// As pread, of at most a block.
static long get(struct block *b, void *to, size_t n, uint64_t at)
{
	if (at < b->at || at - b->at > (uint64_t)b->n || n > (uint64_t)b->n - (at - b->at)) {
		long got = cpu_syscall(SYS_pread64, b->fd, (long)b->bytes, BLOCK, (long)at, 0, 0);
		b->at = at;
		b->n = got > 0 ? got : 0;
	}
	uint64_t left = (uint64_t)b->n - (at - b->at);
	n = n < left ? n : left;
	memcpy(to, b->bytes + (at - b->at), n);
	return (long)n;
}

static __attribute__((noinline)) bool is_file(int dir, const char *path, unsigned mode)
{
	struct stat st;
	return cpu_syscall(SYS_newfstatat, dir, (long)path, (long)&st, 0, 0, 0) == 0 && S_ISREG(st.st_mode) &&
	       (st.st_mode & mode) == mode;
}

bool exec_image_reached(const char *path)
{
	return is_file(AT_FDCWD, path, 0);
}

static __attribute__((noinline)) bool same_file(const char *a, const char *b)
{
	struct stat x, y;
	return cpu_syscall(SYS_newfstatat, AT_FDCWD, (long)a, (long)&x, 0, 0, 0) ||
	       cpu_syscall(SYS_newfstatat, AT_FDCWD, (long)b, (long)&y, 0, 0, 0) ||
	       (x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

// A loader of glibc's, and of the glibc that runs here: another may be too old for this library.
static bool loader_is_ours(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct dl_find_object o;
	uint64_t own = getauxval(AT_BASE);
	if (strncmp(name, "ld-linux", 8) != 0 && strncmp(name, "ld-lsb", 6) != 0)
		return false;
	return !own || _dl_find_object((void *)own, &o) || o.dlfo_link_map->l_name[0] != '/' ||
	       !strcmp(o.dlfo_link_map->l_name, path) || same_file(o.dlfo_link_map->l_name, path);
}

static bool segment(struct block *b, const Elf64_Ehdr *eh, unsigned i, Elf64_Phdr *ph)
{
	return i < eh->e_phnum && i < SEGMENTS && eh->e_phentsize == sizeof(*ph) &&
	       get(b, ph, sizeof(*ph), eh->e_phoff + i * sizeof(*ph)) == sizeof(*ph);
}

// Where in the file an address lies; 0: nowhere.
static uint64_t place(struct block *b, const Elf64_Ehdr *eh, uint64_t address)
{
	Elf64_Phdr ph;
	for (unsigned i = 0; segment(b, eh, i, &ph); i++)
		if (ph.p_type == PT_LOAD && address - ph.p_vaddr < ph.p_filesz)
			return ph.p_offset + (address - ph.p_vaddr);
	return 0;
}

bool exec_image_sanitizer(const char *name)
{
	return !strncmp(name, "libasan.so", 10) || !strncmp(name, "libtsan.so", 10) ||
	       !strncmp(name, "libclang_rt.asan", 16);
}

// Whether it names a sanitizer's library among what it needs.
static __attribute__((noinline)) bool needs_sanitizer(struct block *b, const Elf64_Ehdr *eh, uint64_t dynamic)
{
	char name[NAME] = "";
	Elf64_Dyn d;
	uint64_t names = 0;
	for (unsigned i = 0; !names && i < ENTRIES; i++) {
		if (get(b, &d, sizeof(d), dynamic + i * sizeof(d)) != sizeof(d) || d.d_tag == DT_NULL)
			return false;
		if (d.d_tag == DT_STRTAB && !(names = place(b, eh, d.d_un.d_ptr)))
			return false;
	}
	for (unsigned i = 0; names && i < ENTRIES; i++) {
		if (get(b, &d, sizeof(d), dynamic + i * sizeof(d)) != sizeof(d) || d.d_tag == DT_NULL)
			return false;
		if (d.d_tag == DT_NEEDED && get(b, name, NAME - 1, names + d.d_un.d_val) > 0 &&
		    exec_image_sanitizer(name))
			return true;
	}
	return false;
}

// head: what the file begins with, at least its header; it is written over.
static __attribute__((noinline)) enum exec_image look_elf(int fd, char *head)
{
	struct block b;
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	uint64_t dynamic = 0;
	bool loader = false;
	b.fd = fd;
	b.n = 0;
	b.at = 0;
	memcpy(&eh, head, sizeof(eh));
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_machine != CPU_ELF_MACHINE)
		return EXEC_IMAGE_FOREIGN;
	for (unsigned i = 0; segment(&b, &eh, i, &ph); i++) {
		if (ph.p_type == PT_DYNAMIC)
			dynamic = ph.p_offset;
		if (ph.p_type != PT_INTERP)
			continue;
		loader = true;
		if (ph.p_filesz >= HEAD || get(&b, head, ph.p_filesz, ph.p_offset) != (long)ph.p_filesz)
			return EXEC_IMAGE_FINE;
		head[ph.p_filesz] = 0;
		if (!loader_is_ours(head))
			return EXEC_IMAGE_FOREIGN;
	}
	return loader && dynamic && needs_sanitizer(&b, &eh, dynamic) ? EXEC_IMAGE_SANITIZED :
									EXEC_IMAGE_FINE;
}

static enum exec_image at(int dir, const char *path, int depth);

// The interpreter of a script; head: what it begins with.
static enum exec_image follow(char *head, int depth)
{
	char *p = head + 2;
	while (*p == ' ' || *p == '\t')
		p++;
	char *interpreter = p;
	while (*p && *p != ' ' && *p != '\t' && *p != '\n')
		p++;
	*p = 0;
	return *interpreter && depth > 0 ? at(AT_FDCWD, interpreter, depth - 1) : EXEC_IMAGE_FINE;
}

static __attribute__((noinline)) enum exec_image look(int fd, int depth)
{
	char head[HEAD];
	long n = cpu_syscall(SYS_pread64, fd, (long)head, HEAD - 1, 0, 0, 0);
	head[n > 0 ? n : 0] = 0;
	if (n >= (long)sizeof(Elf64_Ehdr) && !memcmp(head, ELFMAG, SELFMAG))
		return look_elf(fd, head);
	return n > 2 && head[0] == '#' && head[1] == '!' ? follow(head, depth) : EXEC_IMAGE_FINE;
}

static enum exec_image at(int dir, const char *path, int depth)
{
	if (!is_file(dir, path, 0)) // to open anything else may have effects
		return EXEC_IMAGE_FINE;
	int fd = (int)cpu_syscall(SYS_openat, dir, (long)path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, 0, 0);
	if (fd < 0)
		return EXEC_IMAGE_FINE;
	enum exec_image what = look(fd, depth);
	cpu_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
	return what;
}

enum exec_image exec_image_at(int dir, const char *path)
{
	return path ? at(dir, path, DEPTH) : dir >= 0 ? look(dir, DEPTH) : EXEC_IMAGE_FINE;
}

// The first executable file of that name in one of PATH's directories, which are opened one after the other.
__attribute__((noinline)) enum exec_image exec_image_named(const char *name)
{
	char folder[HEAD];
	const char *p = getenv("PATH");
	if (strchr(name, '/'))
		return exec_image_at(AT_FDCWD, name);
	for (p = p ? p : "/bin:/usr/bin"; *name; p++) {
		size_t n = strcspn(p, ":");
		if (n >= HEAD)
			return EXEC_IMAGE_FINE;
		memcpy(folder, p, n);
		memcpy(folder + n, n ? "" : ".", n ? 1 : 2);
		int dir = (int)cpu_syscall(SYS_openat, AT_FDCWD, (long)folder,
					   O_PATH | O_DIRECTORY | O_CLOEXEC, 0, 0, 0);
		if (dir >= 0) {
			bool found = is_file(dir, name, S_IXUSR) || is_file(dir, name, S_IXOTH);
			enum exec_image what = found ? exec_image_at(dir, name) : EXEC_IMAGE_FINE;
			cpu_syscall(SYS_close, dir, 0, 0, 0, 0, 0);
			if (found)
				return what;
		}
		p += n;
		if (!*p)
			break;
	}
	return EXEC_IMAGE_FINE;
}
