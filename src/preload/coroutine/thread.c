// SPDX-License-Identifier: MIT
//
// Thread contexts, and their slots in the region: taken at a thread's first hook, given up by
// a pthread key's destructor. The contexts lie in one private mapping that fork wipes, so in a
// child every guard is taken. thread_start may run on any stack but never inside a trampoline.
// The slot's life goes FREE -> TAKEN -> LIVE -> DEAD here, and DEAD -> FREE in the engine.
#include "preload/coroutine/thread.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "preload/coroutine/coroutine.h"
#include "cpu.h"
#include "preload/coroutine/crash.h"
#include "preload/guest/coredump_advise.h"
#include "preload/guest/emit.h"
#include "preload/guest/exit.h"
#include "preload/guest/filter.h"
#include "preload/guest/real.h"
#include "preload/guest/say.h"

enum { OPEN_ROWS = 8, DROP_NAPS = 25, RELEASE_NAPS = 500 };
enum { CTX_BYTES = 64 << 10 }; // the context below, the private stack above: a signal frame fits twice

__thread struct thread_ctx *ctp_self __attribute__((tls_model("initial-exec"), visibility("hidden")));
static __thread bool starting __attribute__((tls_model("initial-exec")));

static unsigned char *contexts;
static uint32_t contexts_opened; // so many of them may be written
static uint64_t contexts_bytes;
static uint32_t given_up; // slots, by threads that have ended
static __thread uint32_t none_then
	__attribute__((tls_model("initial-exec"))); // given_up + 1, when there was none
static pthread_key_t key;
static uint64_t main_top;

static void thread_stop(void *ctx)
{
	struct thread_ctx *g = ctx;
	if (!g->thread || !ctp_tracer->attached ||
	    g->self != &ctp_self) // a forked child: wiped; or another's by now
		return;
	ctp_self = NULL;
	// A coroutine that was preempted inside a hook may yet go on there: the context stays its
	// own. If there was none, the thread was cancelled inside a hook.
	if (!g->guard && (ctp_load32(g->gaps) & CTP_GAP_BLIND))
		return;
	g->guard = 0;
	crash_stack_disarm(g);
	coroutine_thread_ends(g);
	emit_end(g);
	ctp_store32(&g->thread->life, CTP_THREAD_DEAD);
	ctp_add32(&given_up, 1);
}

static int make_contexts(void)
{
	contexts_bytes = (uint64_t)ctp_tracer->region.threads_max * CTX_BYTES;
	contexts = real_mmap(NULL, contexts_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			     0);
	if (contexts == MAP_FAILED) {
		contexts = NULL;
		return -1;
	}
	if (madvise(contexts, contexts_bytes, MADV_WIPEONFORK) || pthread_key_create(&key, thread_stop)) {
		real_munmap(contexts, contexts_bytes);
		contexts = NULL;
		return -1;
	}
	madvise(contexts, contexts_bytes, MADV_DONTDUMP);
	return 0;
}

int thread_init(struct ctp_ext *e, uint64_t top)
{
	if (!contexts && make_contexts())
		return -1;
	e->areas_base = (uint64_t)contexts;
	e->areas_bytes = contexts_bytes;
	main_top = top;
	return 0;
}

void thread_forked(void)
{
	struct thread_ctx *g = cpu_self();
	ctp_tracer->attached = 0;
	given_up = none_then = 0;
	if (!g)
		return;
	g->guard = 0;
	g->thread = NULL;
	g->lost = NULL;
}

// A slot that nobody has, or threads_max.
static uint32_t slot_take(struct ctp_region *r)
{
	uint32_t high = ctp_load32(&r->ext->thread_high);
	for (uint32_t i = 0; ctp_load32(&given_up) && i < high && i < r->threads_max; i++)
		if (ctp_load32(&r->threads[i].life) == CTP_THREAD_FREE &&
		    ctp_cas32(&r->threads[i].life, CTP_THREAD_FREE, CTP_THREAD_TAKEN))
			return i;
	while (high < r->threads_max) {
		if (ctp_cas32(&r->ext->thread_high, high, high + 1) &&
		    ctp_cas32(&r->threads[high].life, CTP_THREAD_FREE, CTP_THREAD_TAKEN))
			return high;
		high = ctp_load32(&r->ext->thread_high);
	}
	return r->threads_max;
}

static bool any_dead(const struct ctp_region *r)
{
	for (uint32_t i = 0; i < r->threads_max; i++)
		if (ctp_load32(&r->threads[i].life) == CTP_THREAD_DEAD)
			return true;
	return false;
}

// A slot, or none that the engine could give back: then there is nothing to wait for.
static bool slot_is_there(void *arg)
{
	uint32_t *slot = arg;
	struct ctp_region *r = &ctp_tracer->region;
	bool dead = any_dead(r); // first: the engine may give the last one back in between
	*slot = slot_take(r);
	return *slot < r->threads_max || !dead;
}

// As slot_take, but where slots only wait for the engine to drain them, it is woken and waited for:
// for 5 ms, or with --overflow=block for as long as it lives.
static uint32_t slot_get(struct tracer *tr)
{
	struct timespec nap = {0, 200000};
	uint32_t slot = slot_take(&tr->region);
	if (slot < tr->region.threads_max || tr->v1 || tr->no_engine || exit_silent() || slot_is_there(&slot))
		return slot;
	if (tr->block) {
		tr->no_engine = !emit_wait(slot_is_there, &slot) && !exit_silent();
		if (tr->no_engine)
			say_debug("detached from the engine: it does not answer");
		return slot;
	}
	for (int naps = 0; naps < DROP_NAPS; naps++) {
		emit_wake();
		cpu_syscall(SYS_nanosleep, (long)&nap, 0, 0, 0, 0, 0);
		if (slot_is_there(&slot))
			return slot;
	}
	tr->no_engine = !emit_lives(ctp_load32(&tr->region.ext->engine_pid));
	if (tr->no_engine)
		say_debug("detached from the engine: it does not answer");
	return slot;
}

bool thread_open_rows(void *rows, uint64_t each, uint32_t row, uint32_t *opened)
{
	uint32_t have = ctp_load32(opened), want = (row / OPEN_ROWS + 1) * OPEN_ROWS;
	if (row < have)
		return true;
	if (guest_syscall(SYS_mprotect, (long)rows, (long)(want * each), PROT_READ | PROT_WRITE, 0, 0, 0))
		return false;
	while (have < want && !ctp_cas32(opened, have, want))
		have = ctp_load32(opened);
	return true;
}

// Fills the slot for its new thread; the engine has drained what was there.
static void slot_init(struct ctp_thread *t, uint32_t tid)
{
	uint32_t uses = t->uses + (t->began != 0);
	memset((char *)t + 4, 0, offsetof(struct ctp_thread, tail) - 4);
	memset(t->reserved2, 0, sizeof(*t) - offsetof(struct ctp_thread, reserved2));
	t->tid = tid;
	t->uses = uses;
	t->began = guest_now();
	ctp_ring_begin(t); // where the engine stopped reading
	t->wait_fd = -1;
}

// While no system call may be made, glibc says it: a recursive mutex notes its owner.
static uint32_t own_tid(void)
{
	if (!exit_silent() && !filter_forbids(SYS_gettid))
		return (uint32_t)cpu_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
	pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	real_pthread_mutex_lock(&m);
	return (uint32_t)m.__data.__owner;
}

struct thread_ctx *thread_start(void)
{
	struct tracer *tr = ctp_tracer;
	if (!tr->attached || starting)
		return NULL;
	starting = true; // a signal handler's hook passes through meanwhile
	uint32_t then = ctp_load32(&given_up) + 1,
		 slot = then == none_then ? tr->region.threads_max : slot_get(tr);
	if (slot < tr->region.threads_max) {
		coredump_advise_grow(COREDUMP_THREADS, slot + 1);
		if (!thread_open_rows(contexts, CTX_BYTES, slot, &contexts_opened)) {
			ctp_store32(&tr->region.threads[slot].life, CTP_THREAD_FREE);
			slot = tr->region.threads_max;
		}
	}
	if (slot >= tr->region.threads_max) {
		none_then = then; // no other try before another thread ends
		ctp_or32(&tr->region.ext->gaps, CTP_GAP_THREADS);
		ctp_add64(&tr->region.ext->lost_unslotted, 1);
		starting = false;
		say_debug("thread %u is not recorded: no room for it", own_tid());
		return NULL;
	}
	struct thread_ctx *g = (struct thread_ctx *)(contexts + (uint64_t)slot * CTX_BYTES);
	memset(g, 0, sizeof(*g));
	g->stack_top = (uint64_t)g + CTX_BYTES - 64;
	g->slot = slot;
	g->tid = own_tid();
	g->thread = &tr->region.threads[slot];
	g->lost = &g->thread->lost;
	g->gaps = &tr->region.ext->gaps;
	g->fds = tr->region.fds;
	g->fds_max = tr->v1 ? 0 : tr->region.fds_max;
	g->plain = g->fds_max > 0;
	g->ext = tr->region.ext;
	g->sites = tr->region.sites;
	g->ring = ctp_region_ring(&tr->region, slot);
	g->ring_capacity = tr->region.ring_capacity;
	g->ring_mask = g->ring_capacity - 1;
	g->native_top = g->tid == tr->pid ? main_top : cpu_thread_pointer();
	g->self = &ctp_self;
	g->unnamed.entity = CTP_NATIVE;
	g->unnamed.life = CTP_RUNNING;
	g->current = g->native = &g->unnamed;
	g->batch_fd = g->anew_fd = -1;
	g->never = tr->v1 || !tr->tsc;
	g->slice_fresh = g->slice;
	clock_begin(g);
	slot_init(g->thread, g->tid);
	g->ended_time = g->thread->began;
	ctp_store32(&g->thread->life, CTP_THREAD_LIVE);
	pthread_setspecific(key, g);
	ctp_store32(&g->guard, 1);
	ctp_self = g;
	starting = false;
	if (g->tid != tr->pid) // attach says it of the first one
		say_debug("thread %u attached", g->tid);
	return g;
}

// The thread's variable may be gone with it: the kernel looks before it writes.
static void forget_self(struct thread_ctx *g)
{
	struct thread_ctx *is = NULL, *none = NULL;
	struct iovec own = {&is, sizeof(is)}, at = {(void *)g->self, sizeof(is)};
	long n = cpu_syscall(SYS_process_vm_readv, ctp_tracer->pid, (long)&own, 1, (long)&at, 1, 0);
	own.iov_base = &none;
	if (n == sizeof(is) && is == g)
		cpu_syscall(SYS_process_vm_writev, ctp_tracer->pid, (long)&own, 1, (long)&at, 1, 0);
	g->self = NULL;
}

bool thread_release_all(void)
{
	bool all = true;
	uint32_t n = ctp_load32(&contexts_opened);
	for (uint32_t i = 0; i < n; i++) {
		struct thread_ctx *g = (struct thread_ctx *)(contexts + (uint64_t)i * CTX_BYTES);
		bool shut = !g->self || cpu_shut(&g->guard);
		for (int naps = 0; !shut && naps < RELEASE_NAPS; naps++) {
			// Not nanosleep: the kernel would forget how a sleep goes on that an attach
			// interrupted.
			struct timespec nap = {0, 200000};
			cpu_syscall(SYS_ppoll, 0, 0, (long)&nap, 0, 0, 0);
			shut = cpu_shut(&g->guard) || ctp_load32(&g->thread->life) == CTP_THREAD_DEAD;
		}
		if (shut && g->self)
			forget_self(g);
		all &= shut;
	}
	given_up = 0;
	none_then = 0;
	return all;
}

uint64_t thread_top(void)
{
	const struct thread_ctx *g = cpu_self();
	uint32_t tid = own_tid();
	return g ? g->native_top : tid == ctp_tracer->pid ? main_top : cpu_thread_pointer();
}

struct thread_ctx *thread_again(void)
{
	struct thread_ctx *g = cpu_self();
	starting = false;
	madvise(contexts, contexts_bytes,
		MADV_DONTNEED); // the kernel has wiped them; an emulator may not have
	if (g)
		g->stack_top = (uint64_t)g + CTX_BYTES - 64;
	return g;
}

struct thread_ctx *guest_enter(void)
{
	struct thread_ctx *g = cpu_self();
	if (CTP_UNLIKELY(!g)) {
		g = thread_start();
		if (!g)
			return NULL;
	}
	if (CTP_UNLIKELY(g->guard != 1)) {
		if (g->thread) // not in a forked child
			g->thread->passed++;
		return NULL;
	}
	if (CTP_UNLIKELY(!cpu_shut(&g->guard)))
		return NULL;
	if (CTP_UNLIKELY(cpu_self() != g)) { // preempted since, and now on another thread
		g->opens = 1;
		return NULL;
	}
	g->clock_mask = 0;
	g->hook = (uint32_t)(uint64_t)__builtin_frame_address(0);
	return g;
}
