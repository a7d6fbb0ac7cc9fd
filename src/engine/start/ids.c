// SPDX-License-Identifier: MIT
//
// Blocks of ids. A block that was returned is used first while half of it is left, so the
// number of blocks is that of processes that live at one time, not of all there ever were.
#include "engine/start/ids.h"

#include <stdlib.h>

int ids_take(struct ids *ids, uint64_t *used)
{
	for (size_t i = 0; i < ids->n; i++) {
		struct ids_block *b = &ids->blocks[i];
		if (b->taken || b->used - (IDS_FIRST + i * IDS_BLOCK) > IDS_BLOCK / 2)
			continue;
		b->taken = 1;
		*used = b->used;
		return (int)i;
	}
	if (ids->n == IDS_BLOCKS)
		return -1;
	if (ids->n == ids->room) {
		size_t room = ids->room ? ids->room * 2 : 16;
		struct ids_block *more = realloc(ids->blocks, room * sizeof(*more));
		if (!more)
			return -1;
		ids->blocks = more;
		ids->room = room;
	}
	*used = IDS_FIRST + ids->n * IDS_BLOCK;
	ids->blocks[ids->n] = (struct ids_block){.used = *used, .taken = 1};
	return (int)ids->n++;
}

void ids_give(struct ids *ids, int block, uint64_t used)
{
	if (block < 0)
		return;
	if (used > ids->blocks[block].used)
		ids->blocks[block].used = used;
	ids->blocks[block].taken = 0;
}

void ids_deinit(struct ids *ids)
{
	free(ids->blocks);
	*ids = (struct ids){0};
}
