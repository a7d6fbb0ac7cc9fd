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
#include "base/living.h"
#include "base/text.h"
#include "engine/target/elf_events.h"
#include "engine/target/code_files.h"
#include "engine/uprobes/uprobes.h"

enum { SIGNATURE_COLUMNS = 56 };

// -------------------------------------------------------------------- output

static void put_event(FILE *to, const struct elf_event *e, bool native, const char *refused)
{
	char signature[1400], how[160];
	snprintf(signature, sizeof(signature), "%s:%s(%s)", e->provider, e->name, e->fields);
	text_clean(signature);
	fprintf(to, "  %-*s  ", SIGNATURE_COLUMNS, signature);
	if (e->file) {
		fprintf(to, "%s:%" PRIu32 "\n", e->file, e->line);
		return;
	}
	uprobes_describe(e, native, refused, how, sizeof(how));
	fprintf(to, "USDT, %u place%s%s; %s\n", e->places, e->places == 1 ? "" : "s",
		e->has_semaphore ? ", with a semaphore" : "", how);
}

// path: as it is shown. How many it has.
static size_t put_module(FILE *to, const char *path, const char *opened, int fd)
{
	struct elf_events all = {0};
	char refused[128] = "";
	bool asked = false;
	size_t n = elf_events_read(&all, fd) ? 0 : all.n;
	if (n)
		fprintf(to, "%s\n", path);
	for (size_t i = 0; i < n; i++) {
		const struct elf_event *e = &all.items[i];
		if (!asked && !e->file && e->n_place && all.native) {
			uprobes_try(opened, &e->place[0], refused, sizeof(refused));
			asked = true;
		}
		put_event(to, e, all.native, refused);
	}
	elf_events_deinit(&all);
	return n;
}

static size_t put_all(FILE *to, const struct code_files *f, pid_t pid)
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
		n += put_module(to, f->paths[i], path, fd);
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
	struct code_files f = {0};
	pid_t pid = 0;
	int r;
	if (*what && what[strspn(what, "0123456789")] == '\0' && access(what, F_OK)) {
		pid = (pid_t)strtol(what, NULL, 10);
		r = code_files_of_process(&f, pid);
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
			r = code_files_of_program(&f, fd, what);
			if (r < 0)
				wrong(why, why_bytes, what, strerror(-r));
		}
		if (fd >= 0)
			close(fd);
	}
	if (!r && !put_all(to, &f, pid))
		fprintf(to, "no events in %s%s\n", what, f.n > 1 ? " and its libraries" : "");
	code_files_deinit(&f);
	return r;
}
