// SPDX-License-Identifier: MIT
//
// A process may wait for an inspection at its end, which writes lines. So they go to memory files
// first, and to the disk when no process waits. A file that cannot be opened is left out, and the
// others are written nonetheless.
#include "engine/record/image_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const NAMES[IMAGE_FILES] = {
	[IMAGE_WITNESS] = "witness.jsonl", [IMAGE_DESCRIPTORS] = "descriptors.jsonl",
	[IMAGE_SLICES] = "slices.jsonl",   [IMAGE_HIGHWATER] = "highwater.jsonl",
	[IMAGE_SETS] = "sets.jsonl",       [IMAGE_STACKLESS] = "stackless.jsonl",
	[IMAGE_SCRIPTS] = "scripts.jsonl",
};

static FILE *open_in_memory(enum image_file which)
{
	int fd = memfd_create(NAMES[which], MFD_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "a");
	if (!f && fd >= 0)
		close(fd);
	return f;
}

int image_files_open(struct image_files *f)
{
	*f = (struct image_files){.in_memory = true};
	for (int i = 0; i < IMAGE_FILES; i++)
		f->of[i] = i == IMAGE_SCRIPTS ? NULL : open_in_memory((enum image_file)i);
	return f->of[IMAGE_WITNESS] ? 0 : -errno;
}

// Puts the file, with all that it has, behind the stream.
static int store(FILE *f, int dir, const char *name)
{
	struct stat st;
	off_t at = 0;
	fflush(f);
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int e = fd < 0 || fstat(fileno(f), &st) ? -errno : 0;
	while (!e && at < st.st_size) {
		ssize_t n = sendfile(fd, fileno(f), &at, (size_t)(st.st_size - at));
		e = n > 0 ? 0 : n < 0 ? -errno : -EIO;
	}
	if (!e && (fcntl(fd, F_SETFL, O_APPEND) < 0 || dup3(fd, fileno(f), O_CLOEXEC) < 0))
		e = -errno;
	if (fd >= 0)
		close(fd);
	return e;
}

int image_files_store(struct image_files *f, const struct output *o, unsigned k)
{
	if (!f->in_memory)
		return 0;
	f->in_memory = false;
	int dir = output_image(o, k, NULL), first = 0;
	if (dir < 0)
		return dir;
	for (int i = 0; i < IMAGE_FILES; i++) {
		int e = f->of[i] ? store(f->of[i], dir, NAMES[i]) : 0;
		first = first ? first : e;
	}
	close(dir);
	return first;
}

FILE *image_files_rare(struct image_files *f, enum image_file which, const struct output *o, unsigned k)
{
	if (f->of[which] || (!f->of[IMAGE_WITNESS] && !f->in_memory))
		return f->of[which];
	f->of[which] = open_in_memory(which);
	int dir = f->of[which] && !f->in_memory ? output_image(o, k, NULL) : -1;
	if (dir >= 0) {
		store(f->of[which], dir, NAMES[which]);
		close(dir);
	}
	return f->of[which];
}

void image_files_flush(struct image_files *f)
{
	for (int i = 0; i < IMAGE_FILES; i++)
		if (f->of[i])
			fflush(f->of[i]);
}

void image_files_close(struct image_files *f)
{
	for (int i = 0; i < IMAGE_FILES; i++)
		if (f->of[i])
			fclose(f->of[i]);
	*f = (struct image_files){0};
}
