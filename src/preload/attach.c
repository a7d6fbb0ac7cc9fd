// SPDX-License-Identifier: MIT
//
// The beginning and the end of a guest. Attaching: find the region (named by
// the environment, or made here when preloaded alone), claim it by putting our
// pid into it, set up memory, open the gates. After an exec the old image's pid
// stands there already: the engine is asked for a fresh region. Anything wrong
// means: run untraced, and say so once. No descriptor stays open.
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "alone.h"
#include "blocks.h"
#include "context.h"
#include "cpu.h"
#include "emit.h"
#include "modules.h"
#include "pagemap.h"
#include "real.h"
#include "stacks.h"
#include "station.h"
#include "thread.h"
#include "v1.h"

static struct tracer shut;
struct tracer *ctp_tracer = &shut;

void attach_say(const char *what, const char *why)
{
	const char *parts[] = {"ctp: ", what, why ? ": " : "", why ? why : "", "; the program runs untraced\n"};
	char line[512];
	size_t n = 0;
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		for (const char *p = parts[i]; *p && n < sizeof(line); p++)
			line[n++] = *p;
	cpu_syscall(SYS_write, 2, (long)line, (long)n, 0, 0, 0);
}

// Waits until *word is no longer `old`, for at most `ns`.
static bool wait_change(uint32_t *word, uint32_t old, uint64_t ns)
{
	uint64_t end = guest_mono_ns() + ns, now;
	while (ctp_load32(word) == old && (now = guest_mono_ns()) < end) {
		struct timespec left = {(time_t)((end - now) / 1000000000), (long)((end - now) % 1000000000)};
		cpu_syscall(SYS_futex, (long)word, FUTEX_WAIT, old, (long)&left, 0, 0);
	}
	return ctp_load32(word) != old;
}

static void *map_file(const char *path, uint64_t *bytes)
{
	struct stat st;
	int fd = real_open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	void *p = MAP_FAILED;
	if (fstat(fd, &st) == 0 && st.st_size >= (off_t)CTP_HEADER_BYTES) {
		*bytes = (uint64_t)st.st_size;
		p = real_mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	}
	real_close(fd);
	return p == MAP_FAILED ? NULL : p;
}

// The region of an engine that knows version 1 only: stations and slots are
// shared, all else is our own memory.
static int open_v1(struct tracer *t, struct ctp_header *shared, uint64_t bytes)
{
	uint32_t n = shared->max_stations;
	const char *sock = getenv("CTP_SOCK_PATH");
	if (shared->version != CTP_VERSION || n > CTP_STATIONS_LIMIT ||
	    CTP_HEADER_BYTES + (uint64_t)n * CTP_STATION_BYTES > bytes)
		return -EPROTO;
	struct ctp_header layout = {0};
	ctp_region_layout(&layout, n, 4096);
	uint64_t own = layout.ext.region_bytes;
	void *p = real_mmap(NULL, own, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	memcpy(p, &layout, sizeof(layout));
	if (ctp_region_open(&t->region, p, own))
		return -EPROTO;
	madvise(p, own, MADV_DONTFORK);
	t->region.ext->region_base = (uint64_t)p;
	t->region.header = shared;
	t->region.stations = (struct ctp_station *)((char *)shared + CTP_HEADER_BYTES);
	t->v1 = true;
	t->v1_sock = sock ? v1_connect(sock) : -1;
	return 0;
}

// After exec: asks, through the first image's region, for one of our own.
static struct ctp_header *next_region(struct ctp_header *first, uint64_t *bytes)
{
	struct ctp_ext *e = &first->ext;
	char path[64] = "/proc/", *p = path + 6;
	uint32_t parts[2] = {e->engine_pid, 0};
	ctp_store32(&e->next_region, 0);
	ctp_store32(&e->next_asked, 1);
	ctp_add32(&e->wake, 1);
	cpu_syscall(SYS_futex, (long)&e->wake, FUTEX_WAKE, 1, 0, 0, 0);
	if (!wait_change(&e->next_region, 0, 500000000))
		return NULL;
	parts[1] = ctp_load32(&e->next_region) - 1;
	for (int i = 0; i < 2; i++) {
		char digits[12];
		int n = 0;
		do
			digits[n++] = (char)('0' + parts[i] % 10);
		while (parts[i] /= 10);
		while (n)
			*p++ = digits[--n];
		if (i == 0) {
			memcpy(p, "/fd/", 4);
			p += 4;
		}
	}
	*p = 0;
	return map_file(path, bytes);
}

// Maps and claims the region at `path`. 0: claimed; 1: it is somebody else's
// (we are a child); -errno.
static int claim(struct tracer *t, const char *path)
{
	uint64_t bytes;
	struct ctp_header *h = map_file(path, &bytes);
	if (!h)
		return -(errno ? errno : EPROTO);
	if (ctp_load64(&h->magic) == CTP_MAGIC && h->ext.magic != CTP_EXT_MAGIC)
		return open_v1(t, h, bytes);
	int r = ctp_region_open(&t->region, h, bytes);
	if (r)
		return r;
	if (!ctp_cas32(&h->ext.guest_pid, 0, t->pid)) {
		bool mine = ctp_load32(&h->ext.guest_pid) == t->pid;
		struct ctp_header *next = mine ? next_region(h, &bytes) : NULL;
		real_munmap(h, t->region.bytes);
		if (!mine)
			return 1;
		if (!next)
			return -ETIMEDOUT;
		if ((r = ctp_region_open(&t->region, next, bytes)))
			return r;
		ctp_store32(&next->ext.guest_pid, t->pid);
		h = next;
	}
	madvise(h, bytes, MADV_DONTFORK);
	madvise(h, bytes, MADV_DONTDUMP);
	h->ext.region_base = (uint64_t)h;
	return 0;
}

static void find_self(struct ctp_ext *e)
{
	struct dl_find_object o;
	if (_dl_find_object((void *)find_self, &o) == 0) {
		e->self_base = (uint64_t)o.dlfo_map_start;
		e->self_end = (uint64_t)o.dlfo_map_end;
	}
}

static uint64_t main_stack_top(void)
{
	void **end = dlsym(RTLD_DEFAULT, "__libc_stack_end");
	return (end ? (uint64_t)*end : (uint64_t)getauxval(AT_RANDOM)) & ~15ULL;
}

static int set_up(struct tracer *t)
{
	struct ctp_ext *e = t->region.ext;
	static char exe[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = 0;
	t->tsc = !t->v1 && e->clock_kind == CTP_CLOCK_TSC;
	t->block = e->options & CTP_OPT_BLOCK;
	t->no_free = e->options & CTP_OPT_NO_FREE;
	*ctp_tracer = *t; // memory.c and the others read it there
	find_self(e);
	e->context_off = CONTEXT_OFF;
	e->context_words = CONTEXT_WORDS;
	e->context_scratch = CONTEXT_SCRATCH;
	e->pointer_guard = jmpbuf_guard();
	e->pointer_rotate = JMPBUF_ROTATE;
	modules_init(exe);
	if (station_init() || pagemap_init() || stacks_init() || blocks_init())
		return -ENOMEM;
	return thread_init(e, main_stack_top()) ? -ENOMEM : 0;
}

// The page that says "attached": fork wipes it, and with it everything.
static struct tracer *tracer_page(void)
{
	void *p = real_mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	_Static_assert(sizeof(struct tracer) <= 4096, "one page");
	if (p == MAP_FAILED)
		return NULL;
	if (madvise(p, 4096, MADV_WIPEONFORK)) {
		real_munmap(p, 4096);
		return NULL;
	}
	return p;
}

__attribute__((constructor)) static void attach(void)
{
	const char *off = getenv("CTP_DISABLE"), *path = getenv("CTP_SHM_PATH");
	struct tracer t = {.pid = (uint32_t)cpu_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0), .v1_sock = -1};
	int saved = errno, r;
	real_resolve_all();
	emit_init();
	if ((off && *off && strcmp(off, "0") != 0) || getauxval(AT_SECURE))
		goto out;
	if (cpu_shadow_stack()) {
		attach_say("a user shadow stack is on", "the end of a coroutine could not be seen");
		goto out;
	}
	if (!path && !(path = alone_start()))
		goto out;
	r = claim(&t, path);
	if (r < 0)
		attach_say("cannot open the region that CTP_SHM_PATH names", r == -EPROTO ? "not a cTP region" : strerror(-r));
	if (r)
		goto out;
	struct tracer *page = tracer_page();
	if (!page) {
		attach_say("no memory that fork wipes", "MADV_WIPEONFORK needs Linux 4.14");
		goto out;
	}
	ctp_tracer = page;
	if ((r = set_up(&t))) {
		ctp_tracer = &shut;
		attach_say("not enough memory", NULL);
		goto out;
	}
	ctp_tracer->region.ext->attached_ns = guest_mono_ns();
	ctp_tracer->region.ext->attached = guest_now();
	ctp_store32(&ctp_tracer->attached, 1);
	thread_start();
out:
	errno = saved;
}

void attach_exit_begins(struct guest *g, enum ctp_exit how, int status, uint32_t stack)
{
	struct ctp_ext *e = ctp_tracer->region.ext;
	if (!ctp_cas64(&e->exit_begun, 0, guest_now()))
		return;
	ctp_store32(&e->exit_how, how);
	emit(g, ctp_w1(CTP_EV_EXIT, how, guest_who(g)), ctp_w2(0, stack), (uint32_t)status);
}

void attach_wait_final(struct guest *g)
{
	struct ctp_ext *e = ctp_tracer->region.ext;
	bool alone = e->options & CTP_OPT_SELF;
	if (ctp_tracer->v1 || ctp_load32(&e->final_asked) || (!alone && !ctp_load64(&e->next_id)))
		return;
	struct ctp_thread *t = g->thread;
	t->wait_call = CTP_IN_EXIT;
	ctp_store32(&e->final_asked, CTP_FINAL_ASKED);
	emit_wake();
	uint64_t beat = ctp_load64(&e->heartbeat);
	for (int i = 0; i < (alone ? 20 : 5); i++) { // in steps: a dead engine is not waited for
		if (wait_change(&e->final_done, 0, 100000000))
			break;
		if (ctp_load64(&e->heartbeat) == beat && i >= 1 && !alone)
			break;
		beat = ctp_load64(&e->heartbeat);
	}
	t->wait_call = CTP_IN_NONE;
}

// The last of ours that exit() runs; libctp is initialized before what it was
// preloaded into, so most other destructors have run.
__attribute__((destructor)) static void detach(void)
{
	int saved = errno;
	struct guest *g = guest_enter();
	if (g) {
		attach_exit_begins(g, CTP_EXIT_EXIT, 0, 0);
		attach_wait_final(g);
		guest_leave(g);
	}
	errno = saved;
}
