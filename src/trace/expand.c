// SPDX-License-Identifier: MIT
//
// A copy of a trace as plain CTF, for readers that know nothing of packed packets: the same
// packets in the same order, with what was in them, `metadata` where they look for it, and all
// else as it is. What is not whole at a stream's end is left out.
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

#include "ctp/pack.h"
#include "trace/manifest.h"
#include "trace/stream.h"

enum { DEEPEST = 4, COPY_BYTES = 64 << 10 };

struct place {
	char from[4096], to[4096];
};

static bool below(struct place *out, const struct place *in, const char *name, const char *to_name)
{
	return snprintf(out->from, sizeof(out->from), "%s/%s", in->from, name) < (int)sizeof(out->from) &&
	       snprintf(out->to, sizeof(out->to), "%s/%s", in->to, to_name) < (int)sizeof(out->to);
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
	int fd = open(p->from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	FILE *to = fd < 0 ? NULL : create(p->to);
	int r = to ? 0 : -errno;
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
	int r = stream_open(&reader, p->from);
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
	json_error_t error;
	json_t *root = json_load_file(p->from, 0, &error);
	FILE *to = root ? create(p->to) : NULL;
	int r = to ? 0 : root ? -errno : -EPROTO;
	if (!r) {
		json_object_del(root, "compressed");
		r = json_dumpf(root, to, JSON_COMPACT) || fputc('\n', to) == EOF ? -EIO : 0;
	}
	json_decref(root);
	return to ? close_written(to, r) : r;
}

static int expand_one(const struct place *p, const char *name, unsigned depth)
{
	if (!depth)
		return strcmp(name, "metadata") ? expand_stream(p) : copy_file(p);
	return depth == 1 && !strcmp(name, "trace.json") ? expand_manifest(p) : copy_file(p);
}

static int expand_folder(const struct place *in, unsigned depth)
{
	struct place *p = malloc(sizeof(*p));
	DIR *d = p ? opendir(in->from) : NULL;
	int r = !p ? -ENOMEM : !d || mkdir(in->to, 0700) ? -errno : 0;
	for (struct dirent *e; !r && (e = readdir(d));) {
		struct stat st;
		bool up = depth == 1 && !strcmp(e->d_name, "tsdl");
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (!below(p, in, e->d_name, up ? "../metadata" : e->d_name))
			r = -ENAMETOOLONG;
		else if (lstat(p->from, &st))
			r = -errno;
		else if (S_ISDIR(st.st_mode) && depth < DEEPEST)
			r = expand_folder(p, depth + 1);
		else if (S_ISREG(st.st_mode))
			r = expand_one(p, e->d_name, depth);
	}
	if (d)
		closedir(d);
	free(p);
	return r;
}

int expand_trace(const char *from, const char *to)
{
	struct place p, manifest;
	struct manifest m;
	if (snprintf(p.from, sizeof(p.from), "%s", from) >= (int)sizeof(p.from) ||
	    snprintf(p.to, sizeof(p.to), "%s", to) >= (int)sizeof(p.to) ||
	    !below(&manifest, &p, "ctp/trace.json", ""))
		return -ENAMETOOLONG;
	int r = manifest_read(&m, manifest.from);
	if (r)
		return r == -ENOENT || r == -ENOTDIR ? -EPROTO : r;
	uint32_t way = m.compressed;
	manifest_deinit(&m);
	return way && way != PACK_WAY ? -EOPNOTSUPP : expand_folder(&p, 0);
}
