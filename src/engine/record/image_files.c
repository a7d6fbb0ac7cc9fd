// SPDX-License-Identifier: MIT
//
// A file that cannot be opened is left out, and the others are written nonetheless.
#include "engine/record/image_files.h"

#include <fcntl.h>
#include <unistd.h>

static const char *const NAMES[IMAGE_FILES] = {
	[IMAGE_WITNESS] = "witness.jsonl",
	[IMAGE_DESCRIPTORS] = "descriptors.jsonl",
	[IMAGE_SLICES] = "slices.jsonl",
	[IMAGE_HIGHWATER] = "highwater.jsonl",
	[IMAGE_SETS] = "sets.jsonl",
};

static FILE *open_lines(int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "a");
	if (!f && fd >= 0)
		close(fd);
	return f;
}

int image_files_open(struct image_files *f, const struct output *o, unsigned k)
{
	int dir = output_image(o, k, NULL);
	if (dir < 0)
		return dir;
	for (int i = 0; i < IMAGE_FILES; i++)
		f->of[i] = open_lines(dir, NAMES[i]);
	close(dir);
	return 0;
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
	*f = (struct image_files){ 0 };
}
