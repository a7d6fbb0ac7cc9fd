// SPDX-License-Identifier: MIT
//
// Copies a trace as plain CTF, for readers that cannot unpack packets: the same packets
// in the same order, unpacked, with `metadata` where such readers look for it; all other
// files are copied as they are. An incomplete packet at a stream's end is left out.
#include "trace/expand.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "base/file.h"
#include "codec/pack.h"
#include "trace/manifest.h"
#include "trace/stream/stream.h"

enum { DEEPEST = 4, COPY_BYTES = 64 << 10 };

// A file of the trace, by its folder and name; where its copy goes.
struct place {
	int folder;
	const char *name;
	char to[4096];
};

static bool below(struct place *out, const char *to, const char *name)
{
	return snprintf(out->to, sizeof(out->to), "%s/%s", to, name) < (int)sizeof(out->to);
}

static int close_written(FILE *f, int r)
{
	if (!r && (ferror(f) || fflush(f)))
		r = errno ? -errno : -EIO;
	return fclose(f) && !r ? -errno : r;
}

static FILE *create(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f && fd >= 0)
		close(fd);
	return f;
}

static int copy_file(const struct place *p)
{
	char buf[COPY_BYTES];
	int fd = file_open(p->folder, p->name, O_NOFOLLOW);
	FILE *to = fd < 0 ? NULL : create(p->to);
	int r = fd < 0 ? fd : to ? 0 : -errno;
	ssize_t n = 0;
	while (!r && (n = read(fd, buf, sizeof(buf))) > 0)
		fwrite(buf, 1, (size_t)n, to);
	r = r || n >= 0 ? r : -errno;
	if (fd >= 0)
		close(fd);
	return to ? close_written(to, r) : r;
}

static int expand_packets(struct stream_reader *from, FILE *to)
{
	const struct stream_packet *packet;
	const void *bytes;
	size_t n;
	int r;
	while ((r = stream_packet(from, &packet)) > 0) {
		struct stream_packet plain = *packet;
		uint64_t left = plain.content_bits / 8 - sizeof(plain);
		plain.packed = 0;
		plain.packet_bits = plain.content_bits;
		fwrite(&plain, sizeof(plain), 1, to);
		for (; (r = stream_bytes(from, &bytes, &n)) > 0; left -= n)
			fwrite(bytes, 1, n, to);
		if (r || left)
			return r ? r : -EIO; // somebody shortens it
	}
	return r;
}

static int expand_stream(const struct place *p)
{
	struct stream_reader *reader;
	int r = stream_open(&reader, p->folder, p->name);
	if (r)
		return r;
	FILE *to = create(p->to);
	r = to ? close_written(to, expand_packets(reader, to)) : -errno;
	stream_close(reader);
	return r;
}

// The manifest, which no longer says that packets are packed.
static int expand_manifest(const struct place *p)
{
	int r;
	json_t *root = manifest_load(p->folder, &r);
	FILE *to = root ? create(p->to) : NULL;
	if (root && !to)
		r = -errno;
	if (!r) {
		json_object_del(root, "compressed");
		r = json_dumpf(root, to, JSON_COMPACT) || fputc('\n', to) == EOF ? -EIO : 0;
	}
	json_decref(root);
	return to ? close_written(to, r) : r;
}

static int expand_one(const struct place *p, unsigned depth)
{
	if (!depth)
		return strcmp(p->name, "metadata") ? expand_stream(p) : copy_file(p);
	return depth == 1 && !strcmp(p->name, "trace.json") ? expand_manifest(p) : copy_file(p);
}

static int expand_folder(int from, const char *to, unsigned depth);

static int expand_entry(struct place *p, const char *to, unsigned depth)
{
	struct stat st;
	bool up = depth == 1 && !strcmp(p->name, "tsdl");
	if (!below(p, to, up ? "../metadata" : p->name))
		return -ENAMETOOLONG;
	if (fstatat(p->folder, p->name, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (S_ISREG(st.st_mode))
		return expand_one(p, depth);
	if (!S_ISDIR(st.st_mode) || depth >= DEEPEST)
		return 0;
	int folder = file_open_folder(p->folder, p->name, O_NOFOLLOW);
	return folder < 0 ? folder : expand_folder(folder, p->to, depth + 1);
}

// Takes `from`.
static int expand_folder(int from, const char *to, unsigned depth)
{
	struct place *p = malloc(sizeof(*p));
	DIR *d = p ? fdopendir(from) : NULL;
	int r = !p ? -ENOMEM : !d || mkdir(to, 0700) ? -errno : 0;
	for (struct dirent *e; !r && (e = readdir(d));) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		p->folder = dirfd(d);
		p->name = e->d_name;
		r = expand_entry(p, to, depth);
	}
	if (d)
		closedir(d);
	else
		close(from);
	free(p);
	return r;
}

static int way_of(int folder, uint32_t *way)
{
	struct manifest m;
	int ctp = file_open_folder(folder, "ctp", O_NOFOLLOW);
	int r = ctp < 0 ? ctp : manifest_read(&m, ctp);
	if (ctp >= 0)
		close(ctp);
	if (r)
		return r == -ENOENT || file_refused(r) ? -EPROTO : r;
	*way = m.compressed;
	manifest_deinit(&m);
	return 0;
}

int expand_trace(const char *from, const char *to)
{
	uint32_t way;
	int folder = file_open_folder(AT_FDCWD, from, 0);
	if (folder < 0)
		return folder == -ENOENT || folder == -ENOTDIR ? -EPROTO : folder;
	int r = way_of(folder, &way);
	if (!r && way && way != PACK_WAY)
		r = -EOPNOTSUPP;
	if (!r)
		return expand_folder(folder, to, 0);
	close(folder);
	return r;
}
