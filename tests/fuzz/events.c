// SPDX-License-Identifier: MIT
//
// Events of the program's own: their classes (ctp/events.jsonl) up to the first zero, then a stream of them,
// packet by packet, and what each says.
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "trace/stream/program_events.h"

const char fuzz_name[] = "events";

static void read_stream(const char *path, const struct program_classes *classes)
{
	struct program_packet p = {0};
	struct stream_reader *r;
	char text[1024];
	if (stream_open(&r, AT_FDCWD, path))
		return;
	while (program_packet_next(&p, r, classes) > 0)
		for (size_t i = 0; i < p.n; i++)
			program_event_text(&p.events[i], text, sizeof(text));
	program_packet_deinit(&p);
	stream_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
	size_t text = zero ? (size_t)(zero - data) : size, rest = zero ? size - text - 1 : 0;
	struct program_classes classes = {0};
	fuzz_file("events.jsonl", data, text);
	int folder = open(fuzz_folder(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return 0;
	if (!program_classes_read(&classes, folder)) {
		program_classes_find(&classes, "http:request");
		read_stream(fuzz_file("e0.0", zero ? zero + 1 : data, rest), &classes);
	}
	program_classes_deinit(&classes);
	close(folder);
	return 0;
}
