// SPDX-License-Identifier: MIT
//
// What a packed packet is inside: planes. Their sizes come first.
#include "codec/predict.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

const char fuzz_name[] = "foresee";

enum { BEHIND = 8, SLOTS_MOST = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t head = 2 * PLANES + 2 + 8;
	if (size < head)
		return 0;
	struct planes p = { 0 };
	size_t left = size - head, n = (data[2 * PLANES] | (size_t)data[2 * PLANES + 1] << 8) % SLOTS_MOST;
	unsigned char *room = malloc(left + BEHIND), *at = room;
	struct ctp_record *slots = malloc((n ? n : 1) * sizeof(*slots));
	struct foresight *f = predict_new();
	if (room && slots && f) {
		memcpy(room, data + head, left);
		memset(room + left, 0, BEHIND);
		memcpy(&p.unit, data + head - 8, sizeof(p.unit));
		for (unsigned i = 0; i < PLANES; i++) {
			size_t bytes = data[2 * i] | (size_t)data[2 * i + 1] << 8;
			bytes = i + 1 == PLANES || bytes > left ? left : bytes;
			p.at[i] = at;
			p.end[i] = at += bytes;
			left -= bytes;
		}
		predict_read(f, &p, slots, n);
	}
	predict_free(f);
	free(slots);
	free(room);
	return 0;
}
