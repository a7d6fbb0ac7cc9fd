// SPDX-License-Identifier: MIT
//
// Attaching. The constructor finds the region (named by the environment, or made here when
// preloaded alone), claims it by storing our pid in it, sets up the tables, and opens the
// gates. After an exec the old image's pid is already there: the engine is asked for a fresh
// region. If anything fails, the program runs untraced, and one line says so. No descriptor
// stays open.
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "preload/patch/loaded.h"
#include "preload/patch/patch.h"
#include "preload/process/standalone.h"
#include "preload/guest/region_request.h"
#include "preload/coroutine/begin.h"
#include "preload/coroutine/blocks.h"
#include "preload/process/births.h"
#include "preload/process/child.h"
#include "preload/process/late.h"
#include "preload/process/redirect.h"
#include "context.h"
#include "cpu.h"
#include "preload/coroutine/crash.h"
#include "preload/guest/coredump_advise.h"
#include "preload/guest/emit.h"
#include "preload/guest/events.h"
#include "preload/guest/exit.h"
#include "preload/fds/fd_map.h"
#include "preload/fds/fds.h"
#include "preload/coroutine/inherit.h"
#include "preload/guest/modules.h"
#include "preload/coroutine/stack_index.h"
#include "preload/coroutine/handle_cache.h"
#include "preload/guest/real.h"
#include "preload/guest/say.h"
#include "preload/coroutine/stacks.h"
#include "preload/coroutine/station.h"
#include "preload/coroutine/thread.h"
#include "preload/guest/v1.h"

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
	void *p = real_mmap(NULL, own, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			    -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	memcpy(p, &layout, sizeof(layout));
	if (ctp_region_open(&t->region, p, own))
		return -EPROTO;
	madvise(p, own, MADV_DONTFORK);
	t->region.ext->region_base = (uint64_t)p;
	t->region.header = shared;
	t->region.stations = (struct ctp_station *)((char *)shared + CTP_HEADER_BYTES);
	t->region.stations_max = n;
	t->v1 = true;
	t->v1_sock = sock ? v1_connect(sock) : -1;
	return 0;
}

// Takes the region over that lies at h. 0 or -errno.
static int take(struct tracer *t, struct ctp_header *h, uint64_t bytes)
{
	int r = ctp_region_open(&t->region, h, bytes);
	if (r)
		return r;
	madvise(h, bytes, MADV_DONTFORK);
	madvise(h, bytes, MADV_DONTDUMP);
	h->ext.region_base = (uint64_t)h;
	return 0;
}

// Leaves free what jumps in the program's own code may lead to (patch/live.c), two gigabytes on either side;
// what the kernel gives us lies right below its libraries. It stays where it is if there is not so much room.
static struct ctp_header *set_apart(struct ctp_header *h, uint64_t bytes)
{
	const uint64_t reach = 1ULL << 31, whole = (bytes + 2 * reach + 4095) & ~4095ULL;
	char *room = real_mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		return h;
	long at = cpu_syscall(SYS_mremap, (long)h, (long)bytes, (long)bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
			      (long)(room + reach), 0);
	bool moved = at == (long)(room + reach);
	real_munmap(room, moved ? reach : whole);
	if (moved)
		real_munmap(room + whole - reach, reach);
	return moved ? (struct ctp_header *)(room + reach) : h;
}

// Maps the region at `path` (over `room`, if it has as much; apart, if the program runs) and claims it, or
// asks there for one. 0: claimed; 1: it is somebody else's (we are a child); -errno.
static int claim(struct tracer *t, const char *path, const struct ctp_region *room)
{
	uint64_t bytes = room ? room->bytes : 0;
	struct ctp_header *h = bytes ? region_request_map(path, room->base, &bytes) : NULL, *own;
	bool there = h != NULL;
	h = h ? h : region_request_map(path, NULL, &bytes);
	if (!h)
		return -(errno ? errno : EPROTO);
	own = h = room && !there ? set_apart(h, bytes) : h;
	if (ctp_load64(&h->magic) == CTP_MAGIC && h->ext.magic != CTP_EXT_MAGIC)
		return open_v1(t, h, bytes);
	int r = ctp_region_open(&t->region, h, bytes);
	if (r)
		return r;
	const struct ctp_ext *e = &h->ext;
	if (e->clock_kind != CTP_CLOCK_MONOTONIC && !(CPU_HAS_TSC && e->clock_kind == CTP_CLOCK_TSC))
		return -ENOTSUP;
	bool root = !e->root_pid || e->root_pid == t->pid;
	if (!root || !ctp_cas32(&h->ext.guest_pid, 0, t->pid)) {
		bool again = ctp_load32(&e->guest_pid) == t->pid, follow = e->options & CTP_OPT_FOLLOW;
		if (again)
			ctp_add32(&h->ext.execs, 1); // what was here before is gone, even if nobody answers
		own = again || follow ? region_request(h, t->pid, NULL, &bytes) : NULL;
		real_munmap(h, t->region.bytes);
		if (!own)
			return again ? -ETIMEDOUT : 1;
		ctp_store32(&own->ext.guest_pid, t->pid);
	}
	return take(t, own, bytes);
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

// qemu-user answers for /proc/self alone, and a process whose first thread has ended has a file only there
// where a living thread asks.
static void own_file(char *exe, size_t room)
{
	ssize_t n = readlink("/proc/self/exe", exe, room - 1);
	if (n <= 0)
		n = readlink("/proc/thread-self/exe", exe, room - 1);
	exe[n > 0 ? n : 0] = '\0';
}

static int set_up(struct tracer *t, uint64_t top)
{
	struct ctp_ext *e = t->region.ext;
	static char exe[4096];
	own_file(exe, sizeof(exe));
	t->tsc = !t->v1 && e->clock_kind == CTP_CLOCK_TSC;
	t->sparse = t->tsc && (e->options & CTP_OPT_SPARSE);
	t->adaptive = t->tsc && (e->options & CTP_OPT_ADAPTIVE) && !t->sparse;
	t->block = e->options & CTP_OPT_BLOCK;
	t->flight = (e->options & CTP_OPT_FLIGHT) && t->region.chunks;
	t->no_free = e->options & CTP_OPT_NO_FREE;
	t->base = cpu_base_readable(getauxval(AT_HWCAP2));
	*ctp_tracer = *t; // memory.c and the others read it there
	memory_init();
	births_init();
	coredump_advise_init();
	fd_candidates_init();
	inherit_init();
	fd_map_init();
	find_self(e);
	e->context_off = CONTEXT_OFF;
	e->context_words = CONTEXT_WORDS;
	e->context_scratch = CONTEXT_SCRATCH;
	e->page = (uint64_t)ctp_tracer;
	e->pointer_guard = jmpbuf_guard();
	e->pointer_rotate = JMPBUF_ROTATE;
	modules_init(exe);
	if (station_init() || stack_index_init() || handle_cache_init() || stacks_init() || blocks_init() ||
	    begin_init())
		return -ENOMEM;
	modules_note_pc(getauxval(AT_ENTRY)); // of coroutines that no hook sees, only addresses are found
	return thread_init(e, top) ? -ENOMEM : 0;
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

// With everything at hand: sets up, and opens the gates.
static int begin(struct tracer *t, uint64_t top)
{
	int r = set_up(t, top);
	if (r)
		return r;
	ctp_tracer->region.ext->attached_ns = guest_mono_ns();
	ctp_tracer->region.ext->attached = guest_now();
	ctp_tracer->first_id = ctp_load64(&ctp_tracer->region.ext->next_id);
	ctp_store32(&ctp_tracer->attached, 1);
	return 0;
}

// The calling thread is the program's first.
static void go(void (*find_events)(void))
{
	thread_start();
	crash_init();
	find_events();
}

int attach_child(struct ctp_header *own, uint64_t bytes, uint64_t top)
{
	struct tracer t = {.pid = (uint32_t)cpu_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0), .v1_sock = -1};
	int r = take(&t, own, bytes);
	if (r)
		return r;
	own->ext.inherited = 1;
	ctp_store32(&own->ext.guest_pid, t.pid);
	r = begin(&t, top);
	if (r)
		return r;
	go(events_forked);
	exit_init();
	return 0;
}

// Whether we are another user's than that process: we were its user's when it started us.
static bool rights_gone(uint32_t pid)
{
	char path[32];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%u", pid);
	return stat(path, &st) == 0 && st.st_uid != geteuid();
}

// Whether we are the program that ctp-run started, or told to attach by hand: only
// then is it worth a word that we cannot. A child may have outlived the engine, or
// given up the rights to reach it.
static bool told(const char *path)
{
	uint32_t pid = 0;
	if (strncmp(path, "/proc/", 6) != 0)
		return true;
	for (const char *p = path + 6; *p >= '0' && *p <= '9'; p++)
		pid = pid * 10 + (uint32_t)(*p - '0');
	return pid == (uint32_t)cpu_syscall(SYS_getppid, 0, 0, 0, 0, 0, 0) && !rights_gone(pid);
}

// Not where it was turned off. Programs may clear their environment: it is asked once.
static void patch(void)
{
	const char *wanted = getenv("CTP_PATCH");
	if ((wanted && strcmp(wanted, "0") == 0) || (ctp_tracer->region.ext->options & CTP_OPT_NO_PATCH))
		return;
	loaded_start(births_opened, births_gone);
	real_behind = patch_behind;
	real_resolve_again();
	births_start();
}

static void say_refused(const char *path, int r, bool always)
{
	if (r > 0)
		say_debug(
			"not attached: %s is another process's, and there is none for this one: ctp-run -f makes it",
			path);
	else if (!always)
		say_debug("not attached: %s: %s", path, strerror(-r));
	else if (r == -ENOTSUP)
		say_untraced("the region's clock is another CPU's",
			     "ctp-run --no-preload makes regions that any CPU can use");
	else
		say_untraced("cannot open the region that CTP_SHM_PATH names",
			     r == -EPROTO ? "not a cTP region" :
			     r == -EPROTONOSUPPORT ?
					    "made by another version of ctp: use that one's libctp.so" :
					    strerror(-r));
}

// Was this library loaded by ctp-run -p? It gives dlopen a name of its own.
static bool loaded_late(void)
{
	Dl_info own;
	return dladdr((void *)loaded_late, &own) && own.dli_fname && strncmp(own.dli_fname, "/proc/", 6) == 0;
}

int attach_late(const char *path)
{
	struct tracer t = {.pid = (uint32_t)cpu_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0), .v1_sock = -1};
	static struct tracer *page;
	// Of the last attach. It stays mapped: a thread that was stopped in a hook may still read or write
	// there. The next one lies in its place.
	static struct ctp_region before;
	if (ctp_load32(&ctp_tracer->attached) || cpu_shadow_stack())
		return -EBUSY;
	real_resolve_all();
	emit_init();
	page = page ? page : tracer_page();
	struct ctp_region room = before;
	int r = page ? claim(&t, path, &room) : -ENOMEM;
	before = (struct ctp_region){0};
	if (r)
		return r > 0 ? -EBUSY : r;
	ctp_tracer = page;
	if ((r = begin(&t, main_stack_top()))) {
		ctp_tracer = &tracer_shut;
		return r;
	}
	before = ctp_tracer->region;
	if (before.base == room.base &&
	    before.bytes < room.bytes) // a small one leaves the rest for a large one
		before.bytes = room.bytes;
	exit_init();
	return 0;
}

__attribute__((constructor)) static void attach(void)
{
	const char *off = getenv("CTP_DISABLE"), *path = getenv("CTP_SHM_PATH");
	struct tracer t = {.pid = (uint32_t)cpu_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0), .v1_sock = -1};
	int saved = errno, r;
	if (loaded_late()) {
		real_loaded_late();
		return;
	}
	say_init();
	real_resolve_all();
	emit_init();
	if ((off && *off && strcmp(off, "0") != 0) || getauxval(AT_SECURE)) {
		say_debug("not attached: CTP_DISABLE is set");
		goto out;
	}
	if (cpu_shadow_stack()) {
		say_untraced("a user shadow stack is on", "the end of a coroutine could not be seen");
		goto out;
	}
	bool alone = !path;
	if (alone && !(path = standalone_start()))
		goto out;
	bool say = alone || told(path);
	r = claim(&t, path, NULL);
	if (r) {
		say_refused(path, r, say);
		goto out;
	}
	struct tracer *page = tracer_page();
	if (!page) {
		say_untraced("no memory that fork wipes", "MADV_WIPEONFORK needs Linux 4.14");
		goto out;
	}
	ctp_tracer = page;
	if ((r = begin(&t, main_stack_top()))) {
		ctp_tracer = &tracer_shut;
		say_untraced("not enough memory", NULL);
		goto out;
	}
	go(events_init);
	child_init(path);
	exit_init();
	patch();
	say_debug("attached to %s: process %u, %u functions hooked, %u modules loaded", path, t.pid,
		  real_found(), modules_loaded());
out:
	if (!ctp_tracer->attached)
		real_bypass();
	errno = saved;
}
