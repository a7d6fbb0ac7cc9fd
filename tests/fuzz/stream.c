// SPDX-License-Identifier: MIT
//
// One stream, read as records and as packets. The first byte says of which kind it is.
#include "trace/stream/stream.h"

#include <fcntl.h>

#include "fuzz.h"

const char fuzz_name[] = "stream";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	const char *path = fuzz_file(*data == 'v' ? "v1" : "t0.0", data + 1, size - 1);
	const struct stream_packet *packet;
	struct stream_reader *r;
	const void *records;
	size_t n;
	if (stream_open(&r, AT_FDCWD, path))
		return 0;
	while (stream_next(r, &packet, &records, &n) > 0)
		;
	stream_close(r);
	if (stream_open(&r, AT_FDCWD, path))
		return 0;
	while (stream_packet(r, &packet) > 0)
		while (stream_bytes(r, &records, &n) > 0)
			;
	stream_close(r);
	return 0;
}
