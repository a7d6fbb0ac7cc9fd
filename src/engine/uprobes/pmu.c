// SPDX-License-Identifier: MIT
//
// One event for each place and CPU. An event for one process would have to be inherited by its threads, and
// then a program that has given up root could make none: the kernel asks each that begins for the right to
// set a breakpoint. So the events are of all processes, and the caller chooses.
//
// The events of a CPU share one buffer, which the kernel fills and we empty.
#include "engine/uprobes/pmu.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/grow.h"
#include "ctp/seq.h"

#define TYPE "/sys/bus/event_source/devices/uprobe/type"
#define REF_CTR_SHIFT 32 // /sys/bus/event_source/devices/uprobe/format/ref_ctr_offset
#define BUFFER_BYTES \
	(512u << 10) // with its first page what a user may lock of each CPU, if nobody has changed that
enum { RECORD_MOST = 65536 };

struct cpu {
	int number, first; // an event of it, whose buffer the others use; -1
	struct perf_event_mmap_page *page;
};

struct event {
	uint64_t id;
	int fd;
	unsigned place;
};

struct place {
	uint64_t regs;
	uint32_t stack_bytes;
};

struct pmu {
	uint32_t type;
	size_t page_bytes;
	struct cpu *cpus;
	size_t n_cpus;
	struct event *events; // by id, as the kernel numbers them
	size_t n, capacity;
	struct place *places;
	size_t n_places, places_capacity;
	uint64_t lost;
	unsigned char record[RECORD_MOST]; // one that the buffer's end cuts in two
};

struct pmu *pmu_new(char *why, size_t bytes)
{
	unsigned type;
	FILE *f = fopen(TYPE, "re");
	bool there = f && fscanf(f, "%u", &type) == 1;
	if (f)
		fclose(f);
#ifndef __x86_64__
	there = false;
#endif
	if (!there) {
		snprintf(why, bytes, "this kernel sets no uprobes for perf_event_open(2)");
		return NULL;
	}
	long most = sysconf(_SC_NPROCESSORS_CONF);
	struct pmu *p = calloc(1, sizeof(*p));
	struct cpu *cpus = p ? calloc(most > 0 ? (size_t)most : 1, sizeof(*cpus)) : NULL;
	if (!cpus) {
		free(p);
		snprintf(why, bytes, "out of memory");
		return NULL;
	}
	p->type = type;
	p->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	p->cpus = cpus;
	for (long i = 0; i < most; i++)
		cpus[p->n_cpus++] = (struct cpu){.number = (int)i, .first = -1};
	return p;
}

// What it lost that no record told of.
static uint64_t lost_of(const struct pmu *p)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < p->n; i++) {
		struct {
			uint64_t value, lost;
		} said = {0, 0};
		if (read(p->events[i].fd, &said, sizeof(said)) == (ssize_t)sizeof(said))
			sum += said.lost;
	}
	return sum;
}

uint64_t pmu_lost(const struct pmu *p)
{
	uint64_t counted = lost_of(p);
	return counted > p->lost ? counted : p->lost;
}

uint64_t pmu_lost_noted(const struct pmu *p)
{
	return p->lost;
}

void pmu_free(struct pmu *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_cpus; i++)
		if (p->cpus[i].page)
			munmap(p->cpus[i].page, p->page_bytes + BUFFER_BYTES);
	for (size_t i = 0; i < p->n; i++)
		close(p->events[i].fd);
	free(p->events);
	free(p->places);
	free(p->cpus);
	free(p);
}

// ---------------------------------------------------------------- breakpoints

static int open_event(const struct pmu *p, const struct pmu_place *place, pid_t pid, int cpu)
{
	struct perf_event_attr a = {
		.size = sizeof(a),
		.type = p->type,
		.config = place->semaphore << REF_CTR_SHIFT,
		.config1 = (uintptr_t)place->path,
		.config2 = place->at,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_REGS_USER | (place->stack_bytes ? PERF_SAMPLE_STACK_USER : 0),
		.read_format = PERF_FORMAT_LOST,
		.sample_regs_user = place->regs | 1ULL << USDT_SP,
		.sample_stack_user = place->stack_bytes,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = BUFFER_BYTES, // nobody waits for it
	};
	int fd = (int)syscall(SYS_perf_event_open, &a, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 && errno == EINVAL) { // before Linux 6.0
		a.read_format = 0;
		fd = (int)syscall(SYS_perf_event_open, &a, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

static int share_buffer(struct pmu *p, struct cpu *c, int fd)
{
	if (c->page)
		return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, c->first) ? -errno : 0;
	void *page = mmap(NULL, p->page_bytes + BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	c->page = page;
	c->first = fd;
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	return (x->id > y->id) - (x->id < y->id);
}

static int add_event(struct pmu *p, const struct pmu_place *place, struct cpu *c, unsigned number)
{
	struct event e = {.place = number};
	if (GROW(p->events, p->n, p->capacity))
		return -ENOMEM;
	e.fd = open_event(p, place, -1, c->number);
	if (e.fd == -ENODEV) // the CPU is not there now
		return 0;
	if (e.fd < 0)
		return e.fd;
	int r = ioctl(e.fd, PERF_EVENT_IOC_ID, &e.id) ? -errno : share_buffer(p, c, e.fd);
	if (r) {
		close(e.fd);
		return r;
	}
	p->events[p->n++] = e;
	return 0;
}

int pmu_add(struct pmu *p, const struct pmu_place *place)
{
	size_t before = p->n;
	int r = 0;
	if (place->semaphore >> 32) // the kernel has no more bits for it
		return -ERANGE;
	if (GROW(p->places, p->n_places, p->places_capacity))
		return -ENOMEM;
	for (size_t i = 0; !r && i < p->n_cpus; i++)
		r = add_event(p, place, &p->cpus[i], (unsigned)p->n_places);
	for (; r && p->n > before; p->n--) {
		for (size_t i = 0; i < p->n_cpus; i++)
			if (p->cpus[i].first == p->events[p->n - 1].fd) {
				munmap(p->cpus[i].page, p->page_bytes + BUFFER_BYTES);
				p->cpus[i].page = NULL;
				p->cpus[i].first = -1;
			}
		close(p->events[p->n - 1].fd);
	}
	if (r)
		return r;
	p->places[p->n_places] = (struct place){place->regs | 1ULL << USDT_SP, place->stack_bytes};
	return (int)p->n_places++;
}

int pmu_try(const struct pmu *p, const struct pmu_place *place)
{
	int fd = open_event(p, place, 0, -1);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

const char *pmu_why(int e)
{
	switch (-e) {
	case EACCES:
	case EPERM:
		return "the kernel asks for root or CAP_PERFMON to set uprobes";
	case EMFILE:
		return "it needs a descriptor for each place and CPU, and ctp-run may have no more (ulimit -n)";
	default:
		return strerror(-e);
	}
}

// --------------------------------------------------------------------- samples

// The next bytes of a record. False: it is cut.
static bool take(const unsigned char **at, const unsigned char *end, void *to, size_t bytes)
{
	if ((size_t)(end - *at) < bytes)
		return false;
	memcpy(to, *at, bytes);
	*at += bytes;
	return true;
}

static bool sample(struct pmu *p, const unsigned char *at, const unsigned char *end, struct pmu_sample *s)
{
	struct event key;
	uint64_t abi, size, filled;
	if (!take(&at, end, &key.id, 8) || !take(&at, end, &s->pid, 4) || !take(&at, end, &s->tid, 4) ||
	    !take(&at, end, &s->ns, 8) || !take(&at, end, &abi, 8))
		return false;
	const struct event *e = bsearch(&key, p->events, p->n, sizeof(key), by_id);
	if (!e || abi != PERF_SAMPLE_REGS_ABI_64)
		return false;
	s->place = e->place;
	const struct place *is = &p->places[e->place];
	for (unsigned i = 0; i < USDT_REGISTERS; i++)
		if (is->regs >> i & 1 && !take(&at, end, &s->state.regs[i], 8))
			return false;
	if (!is->stack_bytes)
		return true;
	if (!take(&at, end, &size, 8) || size > (size_t)(end - at))
		return false;
	s->state.stack = at;
	at += size;
	s->state.stack_bytes = !size ? 0 : take(&at, end, &filled, 8) && filled <= size ? filled : 0;
	return true;
}

static void one(struct pmu *p, const struct perf_event_header *h, const unsigned char *body,
		void (*each)(void *arg, const struct pmu_sample *s), void *arg)
{
	const unsigned char *end = body + h->size - sizeof(*h);
	struct pmu_sample s = {0};
	if (h->type == PERF_RECORD_LOST && h->size >= sizeof(*h) + 16) {
		uint64_t lost;
		memcpy(&lost, body + 8, 8);
		p->lost += lost;
	} else if (h->type == PERF_RECORD_SAMPLE && sample(p, body, end, &s)) {
		each(arg, &s);
	}
}

static bool read_cpu(struct pmu *p, const struct cpu *c, void (*each)(void *arg, const struct pmu_sample *s),
		     void *arg)
{
	const unsigned char *buffer = (const unsigned char *)c->page + p->page_bytes;
	uint64_t head = ctp_load64((const uint64_t *)&c->page->data_head), at = c->page->data_tail;
	bool any = at != head;
	while (head - at >= sizeof(struct perf_event_header)) {
		struct perf_event_header h;
		size_t from = at % BUFFER_BYTES, first = BUFFER_BYTES - from;
		memcpy(&h, buffer + from, sizeof(h)); // all sizes are multiples of 8, as the buffer's is
		if (h.size < sizeof(h) || h.size > head - at)
			break;
		const unsigned char *record = buffer + from;
		if (first < h.size) {
			memcpy(p->record, record, first);
			memcpy(p->record + first, buffer, h.size - first);
			record = p->record;
		}
		one(p, &h, record + sizeof(h), each, arg);
		at += h.size;
	}
	ctp_store64((uint64_t *)&c->page->data_tail, at);
	return any;
}

bool pmu_read(struct pmu *p, void (*each)(void *arg, const struct pmu_sample *s), void *arg)
{
	bool any = false;
	if (p->n)
		qsort(p->events, p->n, sizeof(*p->events), by_id);
	for (size_t i = 0; i < p->n_cpus; i++)
		if (p->cpus[i].page)
			any |= read_cpu(p, &p->cpus[i], each, arg);
	return any;
}
