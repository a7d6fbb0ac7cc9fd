// SPDX-License-Identifier: MIT
//
// A coroutine waits for the descriptors whose registrations lead to it.
#include "ps/listing/search_waits.h"

#include <errno.h>
#include <stdlib.h>

#include "find/leads.h"
#include "ps/listing/fd_names.h"

int search_waits(struct listing *l, const struct contexts *c)
{
	size_t n;
	const struct listing_epoll *rows = listing_fds_rows(l->fds, &n);
	uint64_t *data = calloc(n + 1, sizeof(*data));
	uint32_t *to = calloc(n + 1, sizeof(*to));
	int e = data && to ? 0 : -ENOMEM;
	for (size_t i = 0; !e && i < n; i++)
		data[i] = rows[i].data;
	if (!e)
		e = leads_find(c, data, n, to);
	for (size_t i = 0; !e && i < n; i++) {
		if (to[i] >= l->n)
			continue;
		struct listing_row *r = &l->v[to[i]];
		if (r->nwaits < LISTING_WAITS && r->state != LISTING_RUNNING)
			r->waits[r->nwaits++] = (struct listing_wait){.fd = rows[i].stale ? -1 : rows[i].fd,
								      .epfd = rows[i].epfd,
								      .events = rows[i].events};
	}
	free(data);
	free(to);
	return e;
}
