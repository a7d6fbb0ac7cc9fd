// SPDX-License-Identifier: MIT
//
// In a forked child that is traced the tables are empty, but the stacks of the parent's
// coroutines exist, and any of them may be resumed. What is needed to recognize one, its
// bounds and its function, is read once from the parent's region, which changes meanwhile:
// coroutines younger than the fork are left out; those that have ended since are taken, as
// their bounds and function remain. A coroutine counts in the child, and gets a station, when
// it is discovered.
#include "preload/coroutine/inherit.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "preload/guest/region_request.h"
#include "cpu.h"
#include "preload/guest/filter.h"
#include "preload/guest/modules.h"
#include "preload/coroutine/names.h"
#include "preload/coroutine/stack_index.h"
#include "preload/guest/real.h"
#include "preload/coroutine/station.h"

enum { MOST = 16384, NAPS = 50 };

struct inherited {
	uint64_t lo, hi, entry; // lo = hi: no more
	char name[CTP_NAME_TEXT];
};
static struct inherited *all; // by lo
static uint32_t count;

void inherit_init(void)
{
	all = NULL;
	count = 0;
}

static bool there(const struct ctp_state *s, uint64_t forked)
{
	bool ended = s->life == CTP_FINISHED || s->life == CTP_DESTROYED;
	return s->owner == CTP_OWNER_GUEST && s->entity == CTP_COROUTINE && s->lo < s->hi &&
	       s->created <= forked && !(ended && s->since <= forked) && !(s->flags & CTP_STATE_SHARED_STACK);
}

static void read_name(const struct ctp_region *r, uint32_t station, uint64_t id, char *to)
{
	struct ctp_name n;
	if (r->names && ctp_name_mapped(r->names_map, station) && ctp_name_read(&r->names[station], &n) &&
	    n.id == id)
		memcpy(to, n.text, sizeof(n.text));
}

// Whoever writes it runs on in the parent, and may have been preempted half way: then it takes as long as
// that thread waits for a CPU. `naps` are left for all stations together, as it may also have been stopped.
static bool read_state(const struct ctp_state *from, struct ctp_state *s, int *naps)
{
	struct timespec nap = {.tv_nsec = 2000000};
	while (!ctp_state_read(from, s)) {
		if (!*naps || filter_forbids(SYS_nanosleep))
			return false;
		--*naps;
		cpu_syscall(SYS_nanosleep, (long)&nap, 0, 0, 0, 0, 0);
	}
	return true;
}

static void read_stations(const struct ctp_region *r, uint64_t forked)
{
	uint32_t n = ctp_load32(&r->header->allocated_count);
	n = n < r->stations_max ? n : r->stations_max;
	n = n < MOST ? n : MOST;
	all = n ? memory_take(n * sizeof(*all)) : NULL;
	int naps = NAPS;
	for (uint32_t i = 0; all && i < n; i++) {
		struct ctp_state s;
		if (ctp_load32(&r->states[i].owner) != CTP_OWNER_GUEST ||
		    !read_state(&r->states[i], &s, &naps) || !there(&s, forked))
			continue;
		all[count] = (struct inherited){s.lo, s.hi, s.entry, ""};
		read_name(r, i, s.id, all[count++].name);
	}
}

// Shellsort: no memory, and little stack.
static void sort(void)
{
	for (uint32_t gap = count / 2; gap; gap /= 2)
		for (uint32_t i = gap; i < count; i++) {
			struct inherited x = all[i];
			uint32_t k = i;
			for (; k >= gap && all[k - gap].lo > x.lo; k -= gap)
				all[k] = all[k - gap];
			all[k] = x;
		}
}

// The first that begins above `addr`.
static uint32_t above(uint64_t addr)
{
	uint32_t from = 0, to = count;
	while (from < to) {
		uint32_t mid = (from + to) / 2;
		if (all[mid].lo > addr)
			to = mid;
		else
			from = mid + 1;
	}
	return from;
}

void inherit_read(const char *path, uint64_t attached, uint64_t forked)
{
	struct ctp_region r;
	uint64_t bytes;
	struct ctp_header *h = region_request_map(path, NULL, &bytes);
	if (!h)
		return;
	if (!ctp_region_open(&r, h, bytes) && h->ext.attached == attached)
		read_stations(&r, forked);
	sort();
	real_munmap(h, bytes);
}

void inherit_forget(uint64_t lo, uint64_t hi)
{
	for (uint32_t i = above(lo); i < count && all[i].lo < hi; i++)
		all[i].hi = all[i].lo;
	for (uint32_t i = above(lo); i-- > 0 && all[i].hi > lo;)
		all[i].hi = all[i].lo;
}

void inherit_name(struct ctp_state *s)
{
	uint32_t next = above(s->lo);
	if (next && all[next - 1].lo == s->lo && all[next - 1].hi == s->hi)
		names_inherit(s, all[next - 1].name);
}

static struct ctp_state *begin(struct thread_ctx *g, const struct inherited *what)
{
	struct ctp_state *s = station_new(CTP_COROUTINE);
	if (!s)
		return NULL;
	ctp_state_begin(s);
	s->flags |= CTP_STATE_FOREIGN;
	s->life = CTP_SUSPENDED;
	s->thread = g->slot;
	s->lo = what->lo;
	s->hi = what->hi;
	s->entry = what->entry;
	s->creator = guest_who(g);
	ctp_state_end(s);
	inherit_name(s);
	stack_index_add_stack(s, NULL, NULL); // forgets `what`
	g->thread->created++;
	modules_note_pc(s->entry);
	emit(g, ctp_w1(CTP_EV_CREATE, 0, s->id), ctp_w2(s->creator, 0), s->entry);
	return s;
}

struct ctp_state *inherit_meet(uint64_t addr)
{
	uint32_t next = count ? above(addr) : 0;
	const struct inherited *it = next ? &all[next - 1] : NULL;
	return it && it->lo < it->hi && addr <= it->hi ? begin(cpu_self(), it) : NULL;
}
