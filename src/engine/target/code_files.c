// SPDX-License-Identifier: MIT
//
// Of a process, what it has mapped; of a program, itself and the libraries with which its loader would start
// it; of a library, itself. Nothing of the program runs.
#include "engine/target/code_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gelf.h>

#include "base/grow.h"
#include "base/maps.h"

void code_files_deinit(struct code_files *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->paths[i]);
	free(f->paths);
	free(f->inodes);
	*f = (struct code_files){0};
}

static int add(struct code_files *f, const char *path, uint64_t ino)
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

static int mapped(void *arg, const struct maps_line *m)
{
	return *m->path == '/' && m->perms[2] == 'x' ? add(arg, m->path, m->ino) : 0;
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
static int loader_line(struct code_files *f, char *line)
{
	char *path = strstr(line, "=> "), *end = strstr(line, " (0x");
	path = path ? path + 3 : line + strspn(line, " \t");
	if (*path != '/' || !end || end < path)
		return 0;
	*end = '\0';
	return add(f, path, 0);
}

// Asks the loader with what it would start the program. It does not run it.
static int libraries(struct code_files *f, const char *loader, const char *program)
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

int code_files_of_program(struct code_files *f, int fd, const char *path)
{
	char loader[512], *real = realpath(path, NULL);
	int r = real ? add(f, path, 0) : -errno;
	interpreter(fd, loader, sizeof(loader));
	if (!r && *loader == '/')
		r = libraries(f, loader, real);
	free(real);
	return r;
}

int code_files_of_process(struct code_files *f, pid_t pid)
{
	return maps_each(pid, mapped, f);
}
