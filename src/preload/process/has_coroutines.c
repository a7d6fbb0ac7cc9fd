// SPDX-License-Identifier: MIT
//
// The symbol table is not in memory: it is read from the object's file, or from its debug file, if that is
// where its package or its builder puts it (the .gnu_debuglink convention, and build ids).
#include "preload/process/has_coroutines.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "preload/guest/exit.h"
#include "preload/guest/guest.h"
#include "preload/patch/code.h"

enum { SECTIONS = 512, PIECE = 32 << 10, PATH = 1024, NAME = 256 };
static const uint64_t names_most = 64 << 20; // they are read before main

static uint8_t piece[PIECE];

struct file {
	int fd;
	unsigned n;        // sections, whose headers are in `piece`
	unsigned names_at; // the one with their names
};

static long read_at(int fd, void *to, uint64_t bytes, uint64_t off)
{
	return guest_syscall(SYS_pread64, fd, (long)to, (long)bytes, (long)off, 0, 0);
}

static int open_file(const char *path, int flags)
{
	return (int)guest_syscall(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC | flags, 0, 0, 0);
}

static void close_file(int fd)
{
	if (fd >= 0)
		guest_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
}

static const ElfW(Shdr) * sections(void)
{
	return (const void *)piece;
}

static bool read_sections(struct file *f)
{
	ElfW(Ehdr) h;
	_Static_assert(SECTIONS * sizeof(ElfW(Shdr)) <= PIECE, "room for its sections");
	if (f->fd < 0 || read_at(f->fd, &h, sizeof(h), 0) != sizeof(h) ||
	    memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_shentsize != sizeof(ElfW(Shdr)) ||
	    h.e_shnum > SECTIONS)
		return false;
	f->n = h.e_shnum;
	f->names_at = h.e_shstrndx;
	long bytes = (long)(f->n * sizeof(ElfW(Shdr)));
	return f->n && read_at(f->fd, piece, (uint64_t)bytes, h.e_shoff) == bytes;
}

// The names of its symbols. False: it has no such table any more.
static bool symbol_names(const struct file *f, ElfW(Shdr) * out)
{
	for (unsigned i = 0; i < f->n; i++) {
		const ElfW(Shdr) *s = &sections()[i];
		if (s->sh_type != SHT_SYMTAB || s->sh_link >= f->n)
			continue;
		*out = sections()[s->sh_link];
		return true;
	}
	return false;
}

// Does one of these names, each of which ends with a zero, have that part?
static bool names_have(int fd, uint64_t off, uint64_t bytes, const char *part)
{
	size_t across = strlen(part) - 1;
	if (bytes > names_most)
		return false;
	for (uint64_t at = 0; at + across < bytes;) {
		uint64_t left = bytes - at, want = left < PIECE ? left : PIECE;
		if (read_at(fd, piece, want, off + at) != (long)want)
			return false;
		if (memmem(piece, want, part, across + 1))
			return true;
		at += want - across;
	}
	return false;
}

// ---------------------------------------------------------------- debug files

// The name of its debug file, without a folder.
static bool debug_link(const struct file *f, char name[NAME])
{
	static const char called[] = ".gnu_debuglink";
	char text[sizeof(called)];
	if (f->names_at >= f->n)
		return false;
	for (unsigned i = 0; i < f->n; i++) {
		const ElfW(Shdr) *s = &sections()[i];
		uint64_t at = sections()[f->names_at].sh_offset + s->sh_name,
			 bytes = s->sh_size < NAME ? s->sh_size : NAME;
		if (s->sh_type != SHT_PROGBITS || s->sh_flags || !bytes ||
		    read_at(f->fd, text, sizeof(text), at) != sizeof(text) ||
		    memcmp(text, called, sizeof(called)) != 0)
			continue;
		return read_at(f->fd, name, bytes, s->sh_offset) == (long)bytes && memchr(name, 0, bytes) &&
		     *name && !strchr(name, '/');
	}
	return false;
}

static bool folder_of(const struct object *o, char path[PATH])
{
	long n = o->program ? guest_syscall(SYS_readlinkat, AT_FDCWD, (long)"/proc/thread-self/exe",
					    (long)path, PATH - 1, 0, 0) :
			      (long)strlen(o->map->l_name);
	if (n <= 0 || n >= PATH)
		return false;
	if (!o->program)
		memcpy(path, o->map->l_name, (size_t)n);
	path[n] = 0;
	char *end = strrchr(path, '/');
	if (end)
		end[1] = 0;
	return end;
}

static bool opens(struct file *f, ElfW(Shdr) * names, const char *root, const char *folder, const char *below,
		  const char *name, const char *ending)
{
	char path[PATH + 2 * NAME], *at = path;
	const char *const parts[] = {root, folder, below, name, ending};
	for (unsigned i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		at = stpcpy(at, parts[i]);
	f->fd = open_file(path, O_NONBLOCK);
	if (read_sections(f) && symbol_names(f, names))
		return true;
	close_file(f->fd);
	f->fd = -1;
	return false;
}

static void hexadecimal(const uint8_t *id, uint32_t bytes, char *out)
{
	for (uint32_t i = 0; i < bytes; i++) {
		*out++ = "0123456789abcdef"[id[i] >> 4];
		*out++ = "0123456789abcdef"[id[i] & 15];
	}
	*out = 0;
}

// Its sections are read. Leaves *f with the debug file, or with none.
static bool debug_names(const struct object *o, struct file *f, ElfW(Shdr) * names)
{
	static const char root[] = "/usr/lib/debug";
	struct object_id id;
	char folder[PATH], name[NAME], below[8] = "", rest[2 * sizeof(id.id) + 1];
	bool linked = debug_link(f, name) && folder_of(o, folder);
	close_file(f->fd);
	f->fd = -1;
	if (linked &&
	    (opens(f, names, "", folder, "", name, "") || opens(f, names, "", folder, ".debug/", name, "") ||
	     (*folder == '/' && opens(f, names, root, folder, "", name, ""))))
		return true;
	if (!object_build_id(o, &id) || id.bytes < 2)
		return false;
	hexadecimal(id.id, 1, below);
	strcat(below, "/");
	hexadecimal(id.id + 1, id.bytes - 1, rest);
	return opens(f, names, root, "/.build-id/", below, rest, ".debug");
}

// --------------------------------------------------------------------- answers

// Both compilers call the function that destroys a coroutine of X "X.destroy".
bool has_coroutines(const struct object *o)
{
	struct file f = {.fd = code_open(o)};
	ElfW(Shdr) names;
	bool has = read_sections(&f) && (symbol_names(&f, &names) || debug_names(o, &f, &names)) &&
		   names_have(f.fd, names.sh_offset, names.sh_size, ".destroy");
	close_file(f.fd);
	return has;
}

// Such a program has opened the object by the same calls; but may not expect them of this file. A system
// without an answer has its reasons, too.
bool may_read(void)
{
	static const char free_to_call[] = "\nSeccomp:\t0";
	int fd = open_file("/proc/thread-self/status", 0);
	long n = fd < 0 ? 0 : guest_syscall(SYS_read, fd, (long)piece, PIECE, 0, 0, 0);
	close_file(fd);
	return n > 0 && memmem(piece, (size_t)n, free_to_call, sizeof(free_to_call) - 1);
}
