// SPDX-License-Identifier: MIT
//
// Maps one table of the last snapshot. The header is checked once against the file's
// size; rows are then used in place. A row longer than ours is accepted: a newer writer
// adds fields at the end only.
#include "trace/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOLLOW_BYTES (256 << 20)

struct table_header {
	char magic[8];
	uint32_t version, record_bytes;
	uint64_t count;
	uint32_t indexed, reserved0;
	uint64_t time;
	uint64_t reserved1[3];
};
_Static_assert(sizeof(struct table_header) == TABLE_HEADER_BYTES, "header of a table");

static int table_check(struct table *t, size_t bytes, bool indexed)
{
	const struct table_header *h = (const void *)t->map.data;
	if (t->map.bytes < sizeof(*h) || memcmp(h->magic, "CTPTAB1", 8) || h->version != 1)
		return -EPROTO;
	size_t want = bytes + (indexed ? 8 : 0), align = bytes < 8 ? bytes : 8;
	if (h->record_bytes < want || h->record_bytes > 65536 || h->record_bytes % align ||
	    (h->indexed != 0) != indexed)
		return -EPROTO;
	size_t fit = (t->map.bytes - sizeof(*h)) / h->record_bytes;
	t->rows = t->map.data + sizeof(*h);
	t->row_bytes = h->record_bytes;
	if (h->count > fit || h->count > UINT32_MAX - 1) // cut off: what is missing could be what matters
		return -EPROTO;
	t->n = (size_t)h->count;
	t->indexed = indexed;
	t->time = h->time;
	return 0;
}

// Are nearly all of its many rows holes of the file? Nobody wrote them, and to read them takes for ever.
static bool is_hollow(int fd)
{
	struct stat st;
	return !fstat(fd, &st) && st.st_size > HOLLOW_BYTES && st.st_blocks < st.st_size / 512 / 256;
}

int table_open(struct table *t, int folder, const char *name, size_t bytes, bool indexed)
{
	struct table got = {0};
	int fd = file_open(folder, name, O_NOFOLLOW);
	if (fd < 0)
		return fd;
	int r = is_hollow(fd) ? -EPROTO : file_map(&got.map, fd);
	close(fd);
	if (!r)
		r = table_check(&got, bytes, indexed);
	if (r)
		table_close(&got);
	else
		*t = got;
	return r;
}

void table_close(struct table *t)
{
	if (!t)
		return;
	file_unmap(&t->map);
	memset(t, 0, sizeof(*t));
}
