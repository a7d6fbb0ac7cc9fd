// SPDX-License-Identifier: MIT
//
// A packed packet. The input becomes slots, which are packed; what became of them is changed where the first bytes say, as
// nothing else would come through zstd; and unpacked. The input as it is, as well.
#include "codec/pack.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

const char fuzz_name[] = "pack";

enum { HEAD = 8 };

static void read_as(struct pack *p, const void *bytes, size_t n, size_t slots)
{
	void *to = pack_room(p, n);
	if (!to)
		return;
	memcpy(to, bytes, n);
	pack_read(p, n, slots);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ctp_record slots[1024];
	const void *packed;
	if (size < HEAD)
		return 0;
	size_t n = (size - HEAD) / sizeof(*slots) < 1024 ? (size - HEAD) / sizeof(*slots) : 1024;
	struct pack *p = pack_new();
	if (!p)
		return 0;
	memcpy(slots, data + HEAD, n * sizeof(*slots));
	size_t bytes = n ? pack_write(p, slots, n, &packed) : 0;
	unsigned char *copy = bytes ? malloc(bytes) : NULL;
	if (copy) {
		memcpy(copy, packed, bytes);
		read_as(p, copy, bytes, n);
		copy[(data[0] | data[1] << 8) % bytes] ^= data[2];
		copy[(data[3] | data[4] << 8) % bytes] ^= data[5];
		read_as(p, copy, bytes, n + data[6] % 3);
	}
	read_as(p, data + 2, size - 2, data[0] | data[1] << 8);
	free(copy);
	pack_free(p);
	return 0;
}
