// SPDX-License-Identifier: MIT
//
// Predicts from the first bytes of the program what the kernel and the loader will do:
// a static program loads no libctp.so, a program in secure mode refuses it, one for
// another CPU cannot map it. For a script, the interpreter is checked.
#include "engine/preflight.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <gelf.h>
#include <libelf.h>

static enum preflight_verdict say(struct preflight *c, enum preflight_verdict v, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(c->why, sizeof(c->why), fmt, ap);
	va_end(ap);
	return v;
}

static bool is_program(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

static enum preflight_verdict find(struct preflight *c, const char *name)
{
	const char *p = getenv("PATH");
	bool seen = false;
	if (strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, "..")) {
		snprintf(c->path, sizeof(c->path), "%s", name);
		return PREFLIGHT_FINE;
	}
	for (p = p ? p : "/bin:/usr/bin"; *name; p++) {
		size_t n = strcspn(p, ":");
		struct stat st;
		snprintf(c->path, sizeof(c->path), "%.*s%s%s", (int)n, p, n ? "/" : "", name);
		if (is_program(c->path))
			return PREFLIGHT_FINE;
		seen = seen || (!stat(c->path, &st) && S_ISREG(st.st_mode));
		p += n;
		if (!*p)
			break;
	}
	if (seen)
		return say(c, PREFLIGHT_CANNOT, "%s: found in PATH, but not executable", name);
	return say(c, PREFLIGHT_NOT_FOUND, "%s: not found in PATH", name);
}

// True if the loader would run it in secure mode, where LD_PRELOAD is ignored.
static bool secure(const char *path, const struct stat *st)
{
	struct statvfs fs;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 || (!statvfs(path, &fs) && (fs.f_flag & ST_NOSUID)))
		return false;
	if ((st->st_mode & S_ISUID) && st->st_uid != getuid())
		return true;
	if ((st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st->st_gid != getgid())
		return true;
	return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

// Looks at program headers: which loader, and what is needed.
static enum preflight_verdict look_inside(struct preflight *c, Elf *elf)
{
	size_t n = 0;
	bool interp = false;
	GElf_Phdr ph;
	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n && gelf_getphdr(elf, (int)i, &ph); i++) {
		if (ph.p_type != PT_INTERP)
			continue;
		size_t file_bytes;
		const char *raw = elf_rawfile(elf, &file_bytes);
		interp = true;
		if (raw && ph.p_offset < file_bytes && ph.p_filesz <= file_bytes - ph.p_offset &&
		    memmem(raw + ph.p_offset, ph.p_filesz, "ld-musl", 7))
			return say(c, PREFLIGHT_CANNOT, "%s: uses musl, and libctp.so needs glibc",
				   c->loaded);
	}
	const char *slash = strrchr(c->loaded, '/');
	if (!interp && strncmp(slash ? slash + 1 : c->loaded, "ld-linux", 8))
		return say(c, PREFLIGHT_CANNOT,
			   "%s: is statically linked, so nothing can be preloaded into it; "
			   "link it dynamically, or use --no-preload",
			   c->loaded);
	return PREFLIGHT_FINE;
}

static GElf_Shdr *section(Elf *elf, unsigned type, GElf_Shdr *sh, Elf_Data **data)
{
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));)
		if (gelf_getshdr(s, sh) && sh->sh_type == type && (*data = elf_getdata(s, NULL)))
			return sh;
	return NULL;
}

// A sanitizer's library wants to be the first of all.
static void find_sanitizer(struct preflight *c, Elf *elf)
{
	GElf_Shdr sh;
	Elf_Data *data;
	GElf_Dyn dyn;
	if (!section(elf, SHT_DYNAMIC, &sh, &data))
		return;
	for (int i = 0; gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL; i++) {
		const char *name = dyn.d_tag == DT_NEEDED ? elf_strptr(elf, sh.sh_link, dyn.d_un.d_val) :
							    NULL;
		if (name && (!strncmp(name, "libasan.so", 10) || !strncmp(name, "libtsan.so", 10) ||
			     !strncmp(name, "libclang_rt.asan", 16)))
			snprintf(c->libasan, sizeof(c->libasan), "%s", name);
	}
}

static enum preflight_verdict check_elf(struct preflight *c, int fd, const unsigned char *head,
					const struct stat *st)
{
	Elf64_Ehdr ours, theirs;
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	bool known = self >= 0 && pread(self, &ours, sizeof(ours), 0) == sizeof(ours);
	if (self >= 0)
		close(self);
	memcpy(&theirs, head, sizeof(theirs));
	if (known && (theirs.e_ident[EI_CLASS] != ours.e_ident[EI_CLASS] ||
		      theirs.e_ident[EI_DATA] != ours.e_ident[EI_DATA] || theirs.e_machine != ours.e_machine))
		return say(c, PREFLIGHT_CANNOT, "%s: is built for another architecture", c->loaded);
	if (secure(c->loaded, st))
		return say(c, PREFLIGHT_CANNOT,
			   "%s: is set-user-id or has file capabilities, and would run in secure "
			   "mode, without libctp.so; run it as its owner, or a copy of it",
			   c->loaded);
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	enum preflight_verdict v =
		elf && elf_kind(elf) == ELF_K_ELF ?
			look_inside(c, elf) :
			say(c, PREFLIGHT_CANNOT, "%s: is no program that this system runs", c->loaded);
	if (v == PREFLIGHT_FINE)
		find_sanitizer(c, elf);
	if (elf)
		elf_end(elf);
	return v;
}

static enum preflight_verdict check_file(struct preflight *c, bool preload, int depth);

static enum preflight_verdict check_script(struct preflight *c, char *head, bool preload, int depth)
{
	head[strcspn(head, "\n")] = '\0';
	char *interp = head + 2 + strspn(head + 2, " \t");
	interp[strcspn(interp, " \t")] = '\0';
	if (!*interp || depth == 0)
		return say(c, PREFLIGHT_CANNOT, "%s: its #! line names no interpreter", c->loaded);
	snprintf(c->loaded, sizeof(c->loaded), "%s", interp);
	return check_file(c, preload, depth - 1);
}

static enum preflight_verdict check_file(struct preflight *c, bool preload, int depth)
{
	union {
		unsigned char bytes[512];
		char text[512];
	} head = {{0}};
	struct stat st;
	if (stat(c->loaded, &st) < 0)
		return say(c, errno == ENOENT ? PREFLIGHT_NOT_FOUND : PREFLIGHT_CANNOT, "%s: %s", c->loaded,
			   strerror(errno));
	if (!S_ISREG(st.st_mode))
		return say(c, PREFLIGHT_CANNOT, "%s: is %s, not a program", c->loaded,
			   S_ISDIR(st.st_mode) ? "a directory" : "not a regular file");
	if (access(c->loaded, X_OK) < 0)
		return say(c, PREFLIGHT_CANNOT, "%s: is not executable", c->loaded);
	int fd = open(c->loaded, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == EACCES && !preload)
		return PREFLIGHT_FINE; // execute only
	if (fd < 0)
		return say(c, PREFLIGHT_CANNOT, "%s: cannot be read: %s", c->loaded, strerror(errno));
	ssize_t n = read(fd, head.bytes, sizeof(head.bytes) - 1);
	enum preflight_verdict v = PREFLIGHT_FINE;
	if (n >= 2 && !memcmp(head.bytes, "#!", 2))
		v = check_script(c, head.text, preload, depth);
	else if (n >= (ssize_t)sizeof(Elf64_Ehdr) && !memcmp(head.bytes, ELFMAG, SELFMAG))
		v = preload ? check_elf(c, fd, head.bytes, &st) : PREFLIGHT_FINE;
	else if (n <= 0 || memchr(head.bytes, 0, strcspn(head.text, "\n") + 1))
		v = n == 0 && depth > 0 ?
			    PREFLIGHT_FINE :
			    say(c, PREFLIGHT_CANNOT, "%s: is no program that this system runs", c->loaded);
	else if (depth > 0) { // the kernel refuses it, and like execvp we then try the shell
		snprintf(c->loaded, sizeof(c->loaded), "/bin/sh");
		v = check_file(c, preload, 0);
	}
	close(fd);
	return v;
}

enum preflight_verdict preflight_program(struct preflight *c, const char *name, bool preload)
{
	*c = (struct preflight){.why = ""};
	enum preflight_verdict v = find(c, name);
	if (v != PREFLIGHT_FINE)
		return v;
	memcpy(c->loaded, c->path, sizeof(c->loaded));
	return check_file(c, preload, 4);
}
