// SPDX-License-Identifier: MIT
//
// Opens a trace of any form, counts its streams and sums up its images. What could not be
// read is a line of `coverage`, so that no number stands for more than was seen.
#include "trace/world.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"
#include "core/corefile.h"
#include "codec/pack.h"
#include "trace/changes.h"
#include "trace/core.h"
#include "trace/directory.h"
#include "trace/lines.h"

static int fail(struct world_error *e, int r, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int fail(struct world_error *e, int r, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	vsnprintf(e->text, sizeof(e->text), format, ap);
	va_end(ap);
	return r;
}

int world_cover(struct world *w, const char *format, ...)
{
	int r = GROW(w->coverage, w->ncoverage, w->coverage_capacity);
	va_list ap;
	va_start(ap, format);
	if (!r && vasprintf(&w->coverage[w->ncoverage], format, ap) < 0)
		r = -ENOMEM;
	va_end(ap);
	if (!r)
		w->ncoverage++;
	return r;
}

int world_layout(struct world_error *e, const char *what, uint32_t layout)
{
	const char *other = layout < CTP_EXT_VERSION ? "an older" : "a newer";
	return ctp_version_read(layout) ?
		       0 :
		       fail(e, -EPROTO,
			    "%smade by %s ctp (layout %u, this one reads %u); read it with that one's ctp-analyze, "
			    "or record it again",
			    what, other, layout, CTP_EXT_VERSION);
}

int world_compressed(struct world_error *e, uint32_t way)
{
	return !way || way == PACK_WAY ?
		       0 :
		       fail(e, -EPROTO,
			    "compressed in a way of %s ctp (%u, this one reads %u); read it with that one's ctp-analyze, "
			    "or record it again",
			    way < PACK_WAY ? "an older" : "a newer", way, PACK_WAY);
}

uint64_t world_ns(const struct world *w, uint64_t ticks)
{
	return manifest_ns(&w->manifest, ticks);
}

int world_stream_open(struct stream_reader **out, const struct world *w, const struct world_stream *s)
{
	return w->folder ? stream_open(out, *w->folder, file_base(s->path)) : -ENOENT;
}

int world_stream_repair(const struct world *w, const struct world_stream *s)
{
	struct stat is;
	int fd = w->folder ? openat(*w->folder, file_base(s->path),
				    O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) :
			     -1;
	if (fd < 0)
		return w->folder ? -errno : -ENOENT;
	int r = fstat(fd, &is) ? -errno : !S_ISREG(is.st_mode) ? -EMEDIUMTYPE : 0;
	if (!r && (is.st_dev != s->device || is.st_ino != s->inode || (uint64_t)is.st_size != s->file_bytes))
		r = -ESTALE;
	if (!r && is.st_nlink > 1) // what else it is the name of is not known
		r = -EMLINK;
	if (!r && ftruncate(fd, (off_t)s->whole_bytes))
		r = -errno;
	close(fd);
	return r;
}

static int open_lines(struct world *w, struct world_error *error)
{
	bool standard = !strcmp(w->path, "-");
	int e = 0;
	FILE *f = standard ? stdin : file_open_input(w->path, &e);
	if (!f)
		return fail(error, e, "%s", file_why(e));
	int r = lines_read(w, f, error);
	if (!standard)
		fclose(f);
	return r;
}

// JSON lines, or a core file: by how it begins.
static int open_file(struct world *w, struct world_error *error)
{
	unsigned char head[4];
	FILE *f = fopen(w->path, "re");
	size_t n = f ? fread(head, 1, sizeof(head), f) : 0;
	if (f)
		fclose(f);
	return corefile_is_elf(head, n) ? core_read(w, error) : open_lines(w, error);
}

// What ctp-ps --save wrote: a core, and beside it what only the kernel knows.
static bool is_saved(const struct world *w)
{
	struct stat st;
	return !fstatat(*w->folder, "core", &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
	       !fstatat(*w->folder, "fdinfo", &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode);
}

static int open_saved(struct world *w, struct world_error *error)
{
	char *folder = w->path;
	if (asprintf(&w->path, "%s/core", folder) < 0) {
		w->path = folder;
		return -ENOMEM;
	}
	close(*w->folder);
	free(w->folder);
	w->folder = NULL;
	int r = core_read(w, error);
	if (r == -ENODATA)
		r = fail(
			error, r,
			"saved of a program that ctp-run had not started, and has no tables; what is found by search "
			"lists: ctp-ps %.200s",
			folder);
	free(folder);
	return r;
}

// Where the user says that a trace is, may be a link; what is in it, not.
static int open_folder(struct world *w)
{
	int fd = file_open_folder(AT_FDCWD, w->path, 0);
	w->folder = fd < 0 ? NULL : malloc(sizeof(*w->folder));
	if (w->folder)
		*w->folder = fd;
	else if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : w->folder ? 0 : -ENOMEM;
}

static int open_any(struct world *w, int wait_ms, struct world_error *error)
{
	struct stat st;
	if (!strcmp(w->path, "-"))
		return open_lines(w, error);
	if (stat(w->path, &st))
		return fail(error, -errno, "%s; record one with: ctp-run -o %.80s PROGRAM",
			    errno == ENOENT ? "no such trace" : strerror(errno), w->path);
	if (!S_ISDIR(st.st_mode))
		return S_ISREG(st.st_mode) ? open_file(w, error) : open_lines(w, error);
	int r = open_folder(w);
	if (!r)
		r = directory_read(w, wait_ms, error);
	if (r == -ENOENT && !error->text[0] && is_saved(w))
		return open_saved(w, error);
	if ((r == -ENOENT || r == -EPROTO) && !error->text[0])
		return fail(error, r, "not a ctp trace (%s); record one with: ctp-run -o PATH PROGRAM",
			    r == -ENOENT ? "it has no ctp/trace.json" : "its ctp/trace.json is damaged");
	return r;
}

void world_progress(const struct world *w, uint64_t done, uint64_t total)
{
	if (w->watch)
		w->watch->report(w->watch->arg, done, total);
}

int world_open(struct world *w, const char *path, int wait_ms, const struct world_watch *watch,
	       struct world_error *error)
{
	struct world got = {.path = strdup(path), .watch = watch};
	error->text[0] = 0;
	int r = got.path ? open_any(&got, wait_ms, error) : -ENOMEM;
	if (r) {
		if (!error->text[0])
			fail(error, r, "%s", strerror(-r));
		world_close(&got);
		return r;
	}
	*w = got;
	return 0;
}

void world_close(struct world *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->nimages; i++)
		image_close(&w->images[i]);
	free(w->images);
	for (size_t i = 0; i < w->nstreams; i++)
		free(w->streams[i].path);
	program_classes_deinit(&w->program_events);
	free(w->streams);
	for (size_t i = 0; i < w->ncoverage; i++)
		free(w->coverage[i]);
	free(w->coverage);
	manifest_deinit(&w->manifest);
	if (w->folder)
		close(*w->folder);
	free(w->folder);
	free(w->path);
	memset(w, 0, sizeof(*w));
}
