// SPDX-License-Identifier: MIT
//
// Lists events module by module: of a process, what it has mapped; of a program, itself and the libraries
// with which its loader would start it; of a library, itself. Nothing of the program runs.
#include "engine/list_events.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gelf.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/living.h"
#include "base/maps.h"
#include "base/text.h"
#include "engine/target/elf_events.h"

enum { SIGNATURE_COLUMNS = 56 };

struct files {
	char **paths;
	uint64_t *inodes;
	size_t n, capacity, inodes_capacity;
};

static void files_deinit(struct files *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->paths[i]);
	free(f->paths);
	free(f->inodes);
}

static int files_add(struct files *f, const char *path, uint64_t ino)
{
	for (size_t i = 0; i < f->n; i++)
		if (ino ? f->inodes[i] == ino : !strcmp(f->paths[i], path))
			return 0;
	if (GROW(f->paths, f->n, f->capacity) || GROW(f->inodes, f->n, f->inodes_capacity) ||
	    !(f->paths[f->n] = strdup(path)))
		return -ENOMEM;
	f->inodes[f->n++] = ino;
	return 0;
}

// ------------------------------------------------------------------- modules

static int mapped(void *arg, const struct maps_line *m)
{
	return *m->path == '/' && m->perms[2] == 'x' ? files_add(arg, m->path, m->ino) : 0;
}

// Who loads the program; "" if nobody does.
static void interpreter(int fd, char *out, size_t bytes)
{
	GElf_Phdr p;
	*out = '\0';
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	size_t n, size = 0;
	const char *raw = elf ? elf_rawfile(elf, &size) : NULL;
	if (raw && !elf_getphdrnum(elf, &n))
		for (size_t i = 0; i < n; i++)
			if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_INTERP && p.p_filesz < bytes &&
			    p.p_offset < size && p.p_filesz <= size - p.p_offset)
				snprintf(out, bytes, "%.*s", (int)p.p_filesz, raw + p.p_offset);
	elf_end(elf);
}

// "libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f...)", or a path alone.
static int loader_line(struct files *f, char *line)
{
	char *path = strstr(line, "=> "), *end = strstr(line, " (0x");
	path = path ? path + 3 : line + strspn(line, " \t");
	if (*path != '/' || !end || end < path)
		return 0;
	*end = '\0';
	return files_add(f, path, 0);
}

// Asks the loader with what it would start the program. It does not run it.
static int libraries(struct files *f, const char *loader, const char *program)
{
	int to[2], status, r = 0;
	if (pipe2(to, O_CLOEXEC))
		return -errno;
	pid_t pid = fork();
	if (!pid) {
		dup2(to[1], STDOUT_FILENO);
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		if (null >= 0)
			dup2(null, STDERR_FILENO);
		execl(loader, loader, "--list", program, (char *)NULL);
		_exit(127);
	}
	close(to[1]);
	FILE *from = pid < 0 ? NULL : fdopen(to[0], "r");
	char line[4600];
	while (from && !r && fgets(line, sizeof(line), from))
		r = loader_line(f, line);
	if (from)
		fclose(from);
	else
		close(to[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return r;
}

static int of_program(struct files *f, int fd, const char *path)
{
	char loader[512], *real = realpath(path, NULL);
	int r = real ? files_add(f, path, 0) : -errno;
	interpreter(fd, loader, sizeof(loader));
	if (!r && *loader == '/')
		r = libraries(f, loader, real);
	free(real);
	return r;
}

// -------------------------------------------------------------------- output

static void put_event(FILE *to, const struct elf_event *e)
{
	char signature[1400];
	snprintf(signature, sizeof(signature), "%s:%s(%s)", e->provider, e->name, e->fields);
	text_clean(signature);
	fprintf(to, "  %-*s  ", SIGNATURE_COLUMNS, signature);
	if (e->file)
		fprintf(to, "%s:%" PRIu32 "\n", e->file, e->line);
	else
		fprintf(to, "USDT, %u place%s%s\n", e->places, e->places == 1 ? "" : "s",
			e->has_semaphore ? ", with a semaphore" : "");
}

// How many it has.
static size_t put_module(FILE *to, const char *path, int fd)
{
	struct elf_events all = {0};
	size_t n = elf_events_read(&all, fd) ? 0 : all.n;
	if (n)
		fprintf(to, "%s\n", path);
	for (size_t i = 0; i < n; i++)
		put_event(to, &all.items[i]);
	elf_events_deinit(&all);
	return n;
}

static size_t put_all(FILE *to, const struct files *f, pid_t pid)
{
	size_t n = 0;
	for (size_t i = 0; i < f->n; i++) {
		char path[4200];
		if (pid)
			snprintf(path, sizeof(path), "/proc/%d/root%s", (int)living_of(pid), f->paths[i]);
		else
			snprintf(path, sizeof(path), "%s", f->paths[i]);
		int fd = file_open(AT_FDCWD, path, 0);
		if (fd < 0)
			continue;
		n += put_module(to, f->paths[i], fd);
		close(fd);
	}
	return n;
}

static int wrong(char *why, size_t bytes, const char *what, const char *text)
{
	snprintf(why, bytes, "--list-events %.200s: %s", what, text);
	return -EINVAL;
}

int list_events(const char *what, FILE *to, char *why, size_t why_bytes)
{
	struct files f = {0};
	pid_t pid = 0;
	int r;
	if (*what && what[strspn(what, "0123456789")] == '\0' && access(what, F_OK)) {
		pid = (pid_t)strtol(what, NULL, 10);
		r = maps_each(pid, mapped, &f);
		if (r < 0)
			r = wrong(why, why_bytes, what,
				  r == -EACCES || r == -EPERM ?
					  "the process is another user's; be that user, or root" :
					  "there is no such process, nor a file of that name");
	} else {
		int fd = file_open(AT_FDCWD, what, 0);
		char magic[4] = "";
		if (fd < 0) {
			r = wrong(why, why_bytes, what, file_refused(fd) ? file_why(fd) : strerror(-fd));
		} else if (pread(fd, magic, 4, 0) != 4 || memcmp(magic, ELFMAG, 4) != 0) {
			r = wrong(why, why_bytes, what,
				  "no program or library in ELF; for a script, name its interpreter");
		} else {
			r = of_program(&f, fd, what);
			if (r < 0)
				wrong(why, why_bytes, what, strerror(-r));
		}
		if (fd >= 0)
			close(fd);
	}
	if (!r && !put_all(to, &f, pid))
		fprintf(to, "no events in %s%s\n", what, f.n > 1 ? " and its libraries" : "");
	files_deinit(&f);
	return r;
}
