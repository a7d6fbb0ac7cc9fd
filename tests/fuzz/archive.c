// SPDX-License-Identifier: MIT
//
// The places are those of seeds.py.
#include "archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char mark[] = "#CTPFILE";
enum { MARK = sizeof(mark) - 1, HEAD = MARK + 2 };

static const char *const places[] = {
	"t0.0", "t0.0.1", "t1.0", "p1.t0.0", "v1", "metadata", "ctp/trace.json", "ctp/tsdl", "ctp/image0/stations", "ctp/image0/threads",
	"ctp/image0/fds", "ctp/image0/cands", "ctp/image0/modules", "ctp/image0/stack_index", "ctp/image0/stack_words", "ctp/image0/ext",
	"ctp/image0/incidents", "ctp/image0/sites", "ctp/image0/names", "ctp/image0/witness.jsonl", "ctp/image0/sets.jsonl",
	"ctp/image0/slices.jsonl", "ctp/image0/highwater.jsonl", "ctp/image0/descriptors.jsonl", "ctp/image0/snapshot/ext",
	"ctp/image0/snapshot/stations", "ctp/image0/snapshot/threads", "ctp/image0/snapshot/fds", "ctp/image0/snapshot/cands",
	"ctp/image1/ext", "ctp/image1/stations", "ctp/events.jsonl", "e0.0",
};

static void make_folders(const char *folder)
{
	static const char *const parts[] = { "", "/ctp", "/ctp/image0", "/ctp/image0/snapshot", "/ctp/image1" };
	char path[256];
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		snprintf(path, sizeof(path), "%s%s", folder, parts[i]);
		if (mkdir(path, 0700) && errno != EEXIST)
			abort();
	}
}

void archive_unpack(const uint8_t *data, size_t size, const char *folder)
{
	char path[256];
	const uint8_t *end = data + size, *at = memmem(data, size, mark, MARK);
	make_folders(folder);
	while (at && end - at >= HEAD) {
		const uint8_t *content = at + HEAD, *next = memmem(content, (size_t)(end - content), mark, MARK);
		size_t n = (size_t)((next ? next : end) - content);
		snprintf(path, sizeof(path), "%s/%s", folder, places[(uint8_t)(at[MARK] - 'A') % (sizeof(places) / sizeof(*places))]);
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (fd < 0 || write(fd, content, n) != (ssize_t)n || close(fd))
			abort();
		at = next;
	}
	snprintf(path, sizeof(path), "%s/ctp/image0/snapshot", folder);
	rmdir(path); // if it is empty: there was none
}
