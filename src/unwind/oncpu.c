// SPDX-License-Identifier: MIT
//
// Samples one thread with a software clock event (perf_event_open) and reads the event's ring.
// Time in the kernel counts where that is permitted, with the registers at the call; otherwise
// only time in the program counts.
#include "unwind/oncpu.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ctp/seq.h"
#include "unwind/arch.h"

enum { PERIOD_NS = 4000000, RING_BYTES = 64 << 10 };

struct oncpu {
	int fd;
	struct perf_event_mmap_page *page;
	unsigned char *ring;
	uint64_t mask;
	unsigned char record[1 << 12];
};
_Static_assert(UNWIND_NEAR + 256 < 1 << 12, "a sample's record");

static int open_event(pid_t tid, uint64_t mask, bool kernel)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.size = sizeof(a),
		.sample_period = PERIOD_NS,
		.sample_type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.sample_regs_user = mask,
		.sample_stack_user = UNWIND_NEAR,
		.exclude_kernel = !kernel,
		.exclude_hv = 1,
	};
	return (int)syscall(SYS_perf_event_open, &a, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

struct oncpu *oncpu_open(pid_t tid)
{
	struct oncpu *o = calloc(1, sizeof(*o));
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	if (!o)
		return NULL;
	for (int i = 0; i < CTP_REGS; i++)
		o->mask |= 1ULL << arch_perf[i];
	o->fd = open_event(tid, o->mask, true);
	if (o->fd < 0)
		o->fd = open_event(tid, o->mask, false);
	void *p = o->fd < 0 ? MAP_FAILED :
			      mmap(NULL, page + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, o->fd, 0);
	if (p == MAP_FAILED) {
		if (o->fd >= 0)
			close(o->fd);
		free(o);
		return NULL;
	}
	o->page = p;
	o->ring = (unsigned char *)p + page;
	return o;
}

void oncpu_close(struct oncpu *o)
{
	if (!o)
		return;
	munmap(o->page, (size_t)(o->ring - (unsigned char *)o->page) + RING_BYTES);
	close(o->fd);
	free(o);
}

// Bytes of the ring from `at` on, which wraps.
static void copy(const struct oncpu *o, uint64_t at, void *to, size_t n)
{
	size_t off = at % RING_BYTES, first = n < RING_BYTES - off ? n : RING_BYTES - off;
	memcpy(to, o->ring + off, first);
	memcpy((unsigned char *)to + first, o->ring, n - first);
}

// abi, a word for each register in the order of its number, then the stack: its size,
// that many bytes, and how many of them count.
static bool parse(const struct oncpu *o, size_t bytes, uint64_t regs[CTP_REGS], struct unwind_near *near)
{
	const uint64_t *w = (const uint64_t *)(o->record + sizeof(struct perf_event_header));
	size_t n = (bytes - sizeof(struct perf_event_header)) / 8;
	if (n < 1 + CTP_REGS + 1 || w[0] != PERF_SAMPLE_REGS_ABI_64)
		return false;
	for (int i = 0; i < CTP_REGS; i++)
		regs[i] = w[1 + __builtin_popcountll(o->mask & ((1ULL << arch_perf[i]) - 1))];
	uint64_t size = w[1 + CTP_REGS], have = 0;
	near->addr = regs[CTP_REG_SP];
	if (size && size <= UNWIND_NEAR && n >= 1 + CTP_REGS + 1 + size / 8 + 1)
		have = w[1 + CTP_REGS + 1 + size / 8];
	near->have = have <= size ? have : 0;
	memcpy(near->bytes, &w[1 + CTP_REGS + 1], near->have);
	return true;
}

bool oncpu_next(struct oncpu *o, uint64_t regs[CTP_REGS], struct unwind_near *near)
{
	uint64_t head = ctp_load64((const uint64_t *)&o->page->data_head), at = o->page->data_tail;
	bool got = false;
	while (!got && at < head) {
		struct perf_event_header h;
		copy(o, at, &h, sizeof(h));
		if (h.size < sizeof(h))
			break;
		if (h.type == PERF_RECORD_SAMPLE && h.size <= sizeof(o->record)) {
			copy(o, at, o->record, h.size);
			got = parse(o, h.size, regs, near);
		}
		at += h.size;
	}
	ctp_store64((uint64_t *)&o->page->data_tail, at);
	return got;
}
