// SPDX-License-Identifier: MIT
//
// A fixed, lock-free hash from (epfd, data) to fd. A slot is one word: tag, generation, fd. It
// is a hint that counts only while the table of descriptors agrees, so nothing is ever
// removed: the next insertion takes a stale slot. Slots never become empty again, and an
// insertion never passes an empty one, so a search ends at the first empty slot. An entry that
// finds no room within the window is dropped: its events then identify no coroutine.
#include "preload/fds/fd_map.h"

enum { BITS = 17, WINDOW = 32 };
#define FD_BITS 20
#define GEN_BITS 16
#define TAG_SHIFT (FD_BITS + GEN_BITS)

static uint64_t *map; // taken when first needed

void fd_map_init(void)
{
	map = NULL;
}

static uint64_t *map_table(void)
{
	uint64_t *t = (uint64_t *)ctp_load64((uint64_t *)&map);
	if (CTP_LIKELY(t != NULL))
		return t;
	t = memory_take(sizeof(*t) << BITS);
	if (t && !ctp_cas64((uint64_t *)&map, 0, (uint64_t)t))
		t = (uint64_t *)ctp_load64((uint64_t *)&map);
	return t;
}

static uint64_t hash(int epfd, uint64_t data)
{
	uint64_t h = (data ^ (uint64_t)(uint32_t)epfd << 48) * 0x9e3779b97f4a7c15ULL;
	h ^= h >> 29;
	return h * 0xbf58476d1ce4e5b9ULL;
}

static uint64_t tag(uint64_t h)
{
	return h << BITS >> TAG_SHIFT << TAG_SHIFT | 1ULL << TAG_SHIFT; // never an empty slot
}

static uint64_t slot_at(uint64_t h, int i)
{
	return ((h >> (64 - BITS)) + (uint64_t)i) & ((1ULL << BITS) - 1);
}

// Whether the slot still says what holds: its generation is open and, where
// that is known, its registration the present one.
static bool alive(uint64_t slot)
{
	const struct ctp_fd *e = fds_entry(slot & ((1 << FD_BITS) - 1));
	if (!e || ctp_peek(&e->life) != CTP_FD_OPEN ||
	    (ctp_peek(&e->gen) & 0xffff) != (slot >> FD_BITS & 0xffff))
		return false;
	if (ctp_peek(&e->flags) & CTP_FD_MANYREGS)
		return true;
	int epfd = ctp_peek(&e->reg_epfd);
	return epfd >= 0 && tag(hash(epfd, ctp_peek(&e->reg_data))) == slot >> TAG_SHIFT << TAG_SHIFT;
}

void fd_map_add(int epfd, uint64_t data, int fd, uint32_t gen)
{
	uint64_t *t = map_table(), h = hash(epfd, data);
	uint64_t mine = tag(h) | (uint64_t)(gen & 0xffff) << FD_BITS | (uint32_t)fd;
	for (int i = 0; t && i < WINDOW; i++) {
		uint64_t *slot = &t[slot_at(h, i)], was = ctp_load64(slot);
		if (was == mine)
			return;
		if ((!was || !alive(was)) && ctp_cas64(slot, was, mine))
			return;
	}
}

// Was it the registration of a generation that has ended?
static bool ended(uint64_t slot, int fd)
{
	const struct ctp_fd *e = fds_entry(fd);
	uint32_t gen = e ? ctp_peek(&e->closed_gen) : 0;
	return e && (gen & 0xffff) == (slot >> FD_BITS & 0xffff) &&
	       (ctp_peek(&e->life) == CTP_FD_CLOSED || ctp_peek(&e->gen) != gen);
}

// As alive, of a slot whose tag is that of (epfd, data).
static inline bool registered_so(uint64_t slot, int epfd, uint64_t data)
{
	const struct ctp_fd *e = fds_entry(slot & ((1 << FD_BITS) - 1));
	return e && ctp_peek(&e->life) == CTP_FD_OPEN &&
	       (ctp_peek(&e->gen) & 0xffff) == (slot >> FD_BITS & 0xffff) &&
	       ((ctp_peek(&e->reg_data) == data && ctp_peek(&e->reg_epfd) == epfd) ||
		(ctp_peek(&e->flags) & CTP_FD_MANYREGS));
}

int fd_map_find(int epfd, uint64_t data)
{
	uint64_t *t = map_table(), h = hash(epfd, data);
	int live = -1;
	for (int i = 0; t && i < WINDOW; i++) {
		uint64_t slot = ctp_load64(&t[slot_at(h, i)]);
		int fd = slot & ((1 << FD_BITS) - 1);
		if (!slot)
			break;
		if (slot >> TAG_SHIFT != tag(h) >> TAG_SHIFT || !registered_so(slot, epfd, data))
			continue;
		if (live >= 0 && live != fd)
			return -1;
		live = fd;
	}
	return live;
}

int fd_map_find_ended(int epfd, uint64_t data)
{
	uint64_t *t = map_table(), h = hash(epfd, data);
	int over = -1;
	for (int i = 0; t && i < WINDOW; i++) {
		uint64_t slot = ctp_load64(&t[slot_at(h, i)]);
		int fd = slot & ((1 << FD_BITS) - 1);
		if (!slot)
			break;
		if (slot >> TAG_SHIFT != tag(h) >> TAG_SHIFT)
			continue;
		if (registered_so(slot, epfd, data))
			return -1;
		if (!ended(slot, fd))
			continue;
		if (over >= 0 && over != fd)
			return -1;
		over = fd;
	}
	return over;
}
