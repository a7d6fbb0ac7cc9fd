// SPDX-License-Identifier: MIT
//
// Forked children. By default a child runs untraced: the region is not mapped in it, and the
// kernel wipes the tracer's page and the thread contexts (where an emulator does not, QEMU up
// to 7.2, we shut them). With --follow-forks the child takes a region before fork returns (it
// waits for the engine only if no spare one exists), and begins with empty tables (inherit.c has
// what exists already). The region is mapped where the parent's was: contexts made before hold
// addresses of stations. If that fails (no /proc after chroot, no rights, no descriptor), the
// child is untraced, without a line. These handlers run for daemon() and forkpty() as well as
// fork(); not for vfork, posix_spawn and system, whose children are discovered after their exec.
#include "preload/process/child.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "ctp/rules.h"
#include "preload/guest/region_request.h"
#include "preload/coroutine/coroutine.h"
#include "cpu.h"
#include "preload/coroutine/crash.h"
#include "preload/guest/emit.h"
#include "preload/coroutine/incident.h"
#include "preload/coroutine/inherit.h"
#include "preload/guest/modules.h"
#include "preload/coroutine/stack_index.h"
#include "preload/guest/real.h"
#include "preload/guest/say.h"
#include "preload/coroutine/station.h"
#include "preload/coroutine/thread.h"

static char first_path[4096]; // "": children are not followed

// What the thread that forks leaves to its other self.
struct legacy {
	bool traced;
	uint64_t base, bytes;      // of the parent's region
	uint32_t pid, own_fd;      // the parent's; its region's at the engine
	uint64_t attached, forked; // when
	uint64_t top;              // of the thread's own stack
	uint64_t lo, hi, entry;    // of the coroutine that forks; lo = hi: none, or not known
	bool in_coroutine;
};
static __thread struct legacy legacy;

static void before(void)
{
	const struct thread_ctx *g = cpu_self();
	const struct tracer *t = ctp_tracer;
	legacy = (struct legacy){.traced = ctp_load32(&t->attached)};
	if (!legacy.traced)
		return;
	legacy.base = (uint64_t)t->region.base;
	legacy.bytes = t->region.bytes;
	legacy.pid = t->pid;
	legacy.own_fd = t->region.ext->own_fd;
	legacy.top = thread_top();
	legacy.attached = t->region.ext->attached;
	legacy.forked = guest_now();
	if (!g || g->current->entity != CTP_COROUTINE)
		return;
	legacy.in_coroutine = true;
	legacy.lo = g->current->lo;
	legacy.hi = g->current->hi;
	legacy.entry = g->current->entry;
}

static void note_fork(const struct frame *f)
{
	struct thread_ctx *g = guest_enter();
	if (!g)
		return;
	struct ctp_incident i = {.rule = RULE_FORKED,
				 .fd = -1,
				 .who = guest_who(g),
				 .stack = guest_stack(g, f),
				 .other_time = legacy.forked};
	incident_note(g, &i);
	guest_leave(g);
}

static void in_parent(void)
{
	struct frame f;
	if (!legacy.traced)
		return;
	CPU_CALLER(&f);
	ctp_add32(&ctp_tracer->region.ext->forks, 1);
	note_fork(&f);
}

// The coroutine that called fork goes on here, and the thread's own stack below it.
static void stand_in(struct thread_ctx *g)
{
	struct ctp_state *native = station_new(CTP_NATIVE), *s = station_new(CTP_COROUTINE);
	if (!native || !s)
		return;
	ctp_state_begin(native);
	native->life = CTP_SUSPENDED;
	native->thread = g->slot;
	native->hi = g->native_top;
	native->runs = 1;
	ctp_state_end(native);
	ctp_state_begin(s);
	s->flags |= CTP_STATE_FOREIGN;
	s->life = CTP_RUNNING;
	s->thread = g->slot;
	s->lo = legacy.lo;
	s->hi = legacy.hi;
	s->entry = legacy.entry;
	s->creator = native->id;
	s->runs = 1;
	ctp_state_end(s);
	if (s->lo < s->hi) {
		inherit_name(s);
		stack_index_add_stack(s, NULL, NULL);
	}
	g->native = native;
	g->current = s;
	g->thread->native = native->id;
	g->thread->current = s->id;
	g->thread->created++;
	crash_stack_arm(g);
	modules_note_pc(s->entry);
	emit(g, ctp_w1(CTP_EV_THREAD, 0, native->id), 0, g->tid);
	emit(g, ctp_w1(CTP_EV_CREATE, 0, s->id), ctp_w2(native->id, 0), s->entry);
}

static uint64_t attach_again(void *at)
{
	uint64_t bytes = legacy.bytes;
	uint32_t pid = (uint32_t)cpu_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
	struct ctp_header *first = region_request_map_head(first_path), *own = NULL;
	if (first)
		own = region_request_spare(first, pid, at, &bytes);
	if (first && !own)
		own = region_request(first, pid, at, &bytes);
	if (first)
		real_munmap(first, 4096);
	if (!own || attach_child(own, bytes, legacy.top)) {
		real_munmap(at, legacy.bytes);
		say_debug("detached in the child of process %u: the engine gave no region", legacy.pid);
		return 0;
	}
	say_debug("attached in the child %u of process %u", ctp_tracer->pid, legacy.pid);
	struct thread_ctx *g = guest_enter();
	if (!g)
		return 0;
	own->ext.forker = legacy.pid;
	if (legacy.own_fd) {
		char path[64];
		region_request_path(path, own->ext.engine_pid, legacy.own_fd - 1);
		inherit_read(path, legacy.attached, legacy.forked);
	}
	if (legacy.in_coroutine)
		stand_in(g);
	guest_leave(g);
	return 0;
}

static void in_child(void)
{
	int saved = errno;
	if (ctp_tracer->attached)
		thread_forked();
	void *at = legacy.traced && *first_path ?
			   real_mmap((void *)legacy.base, legacy.bytes, PROT_NONE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
				     0) :
			   MAP_FAILED;
	if (at != MAP_FAILED) {
		struct thread_ctx *g = thread_again();
		if (g) // a coroutine may have little stack left
			cpu_on_private(g, attach_again, at);
		else
			attach_again(at);
	} else if (legacy.traced) {
		say_debug("detached in a child of process %u: %s", legacy.pid,
			  *first_path ? "the place of its region is taken" :
					"children are traced with ctp-run -f");
	}
	errno = saved;
}

void child_init(const char *path)
{
	size_t n = strlen(path);
	if (*path && !ctp_tracer->v1 && (ctp_tracer->region.ext->options & CTP_OPT_FOLLOW) &&
	    n < sizeof(first_path))
		memcpy(first_path, path, n);
	pthread_atfork(before, in_parent, in_child);
}
