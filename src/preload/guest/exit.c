// SPDX-License-Identifier: MIT
//
// The end of the program. The final inspection happens when exit is entered, before any exit
// handler runs: handlers and destructors free what other threads still use, and to wait among
// them would turn a race that the program never loses into a crash. An exit that libc begins
// itself (err, error, the last pthread_exit) does not pass our hooks. On a thread that has
// created others it is noticed all the same: exit first runs the thread's TLS destructors
// (glibc, stdlib/exit.c), and one of them is ours. On other threads it is noticed only by the
// library's own destructor. In both cases the inspection happens only if the process has one
// thread.
#include "preload/guest/exit.h"

#include <dlfcn.h>
#include <gnu/lib-names.h>
#include <link.h>
#include <sys/syscall.h>

#include "preload/guest/region_request.h"
#include "preload/guest/emit.h"
#include "preload/guest/filter.h"
#include "preload/guest/real.h"
#include "preload/guest/say.h"

enum {
	STEP_NS = 100000000,
	STEPS = 5, // at most so many of them: half a second
	CALLS_NAP_NS = 50000,
	CALLS_NAPS = 100, // 5 ms
	EXIT_BYTES = 64,  // exit is shorter on every CPU
	EXIT_WORDS = 40,  // between a TLS destructor's frame and exit's
};

extern void *__dso_handle;
int __cxa_thread_atexit_impl(void (*fn)(void *), void *arg, void *dso);

static uint64_t exit_at; // libc's own exit; 0: unknown
static uint64_t loaded;  // objects that the loader had had before main; 0: unknown

// Notes it in the region, for P7. True if this call is the first to say so.
static bool note(struct thread_ctx *g, enum ctp_exit how, int status, uint32_t stack)
{
	struct ctp_ext *e = ctp_tracer->region.ext;
	if (!ctp_load32(&ctp_tracer->attached) || ctp_tracer->exiting)
		return false;
	// A child that runs in our memory? Of vfork's, the guard is taken, too.
	if (filter_forbids(SYS_getpid) ?
		    !g :
		    (uint32_t)cpu_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0) != ctp_tracer->pid)
		return false;
	uint64_t now = guest_now();
	if (g)
		clock_close(g, now);
	if (!ctp_cas64(&e->exit_begun, 0, now))
		return false;
	ctp_store32(&e->exit_how, how);
	if (g)
		emit(g, ctp_w1(CTP_EV_EXIT, how, guest_who(g)), ctp_w2(0, stack), (uint32_t)status);
	return true;
}

static int count_ever(struct dl_phdr_info *info, size_t size, void *n)
{
	(void)size;
	*(uint64_t *)n = info->dlpi_adds;
	return 1;
}

// How many objects the loader has ever had. It takes the loader's lock.
static uint64_t loaded_ever(void)
{
	uint64_t n = 0;
	dl_iterate_phdr(count_ever, &n);
	return n;
}

// Whether the engine has seen already all that this process has mapped: it said so when it gave the region.
static bool seen_before(const struct ctp_ext *e)
{
	return ctp_load32(&e->final_done) == CTP_FINAL_DONE && loaded && loaded_ever() == loaded;
}

// Without a switch there is nothing to inspect. A process with one thread is waited for all
// the same, but for a forked child: the engine looks once more for the reason why it saw none,
// unless it has done so before.
static bool worth_waiting(const struct ctp_ext *e)
{
	return tracer_has_coroutines() || !(e->inherited || exit_has_threads() || seen_before(e));
}

void exit_inspect(struct thread_ctx *g)
{
	struct ctp_ext *e = ctp_tracer->region.ext;
	if (ctp_tracer->v1 || ctp_load32(&e->final_asked) || !worth_waiting(e) || filter_forbids(SYS_futex))
		return;
	struct ctp_thread *t = g ? g->thread : NULL;
	bool alone = e->options & CTP_OPT_SELF; // then the trace is written before it answers
	if (t)
		t->wait_call = CTP_IN_EXIT;
	ctp_store32(&e->final_done, CTP_FINAL_NONE);
	ctp_store32(&e->final_asked, CTP_FINAL_ASKED);
	emit_wake();
	uint64_t beat = ctp_load64(&e->heartbeat);
	for (int i = 0; i < STEPS && !region_request_wait(&e->final_done, 0, STEP_NS);
	     i++) { // a dead engine is not waited for
		if (ctp_load64(&e->heartbeat) == beat &&
		    ((i >= 1 && !alone) || !emit_lives(ctp_load32(&e->engine_pid))))
			break;
		beat = ctp_load64(&e->heartbeat);
	}
	if (t)
		t->wait_call = CTP_IN_NONE;
	say_debug("final inspection: %s", ctp_load32(&e->final_done) ? "made" : "the engine does not answer");
}

// A hook's system call that another thread began is over before the first exit handler runs. Bounded: a
// count may never fall, as when a signal handler left a hook by a jump.
static void let_calls_end(void)
{
	struct timespec nap = {0, CALLS_NAP_NS};
	for (int i = 0; i < CALLS_NAPS && exit_has_threads() && !filter_forbids(SYS_nanosleep); i++) {
		if (!ctp_order_load32(&ctp_tracer->calling))
			return;
		cpu_syscall(SYS_nanosleep, (long)&nap, 0, 0, 0, 0, 0);
	}
}

void exit_begins(struct thread_ctx *g, enum ctp_exit how, int status, uint32_t stack)
{
	static const char *const words[] = {
		[CTP_EXIT_MAIN] = "main has returned",
		[CTP_EXIT_EXIT] = "exit",
		[CTP_EXIT__EXIT] = "_exit",
		[CTP_EXIT_QUICK] = "quick_exit",
		[CTP_EXIT_LINK] = "the last context has returned",
	};
	if (!note(g, how, status, stack))
		return;
	say_debug("exit begins: %s", words[how]);
	if (g)
		exit_inspect(g);
	ctp_order_store32(&ctp_tracer->exiting, 1);
	if (g)
		let_calls_end();
}

// ------------------------------------------------------ an exit inside libc

static void exit_in_libc(void)
{
	int saved = errno;
	bool alone = !exit_has_threads();
	struct thread_ctx *g = alone ? guest_enter() : NULL;
	exit_begins(g, CTP_EXIT_EXIT, 0, 0);
	if (g)
		guest_leave(g);
	errno = saved;
}

// Whether a frame above is that of libc's exit. A thread that merely ends has none.
static bool called_by_exit(const uint64_t *frame)
{
	for (int i = 0; exit_at && i < EXIT_WORDS; i++)
		if (frame[i] > exit_at && frame[i] <= exit_at + EXIT_BYTES)
			return true;
	return false;
}

static void thread_ends(void *arg)
{
	(void)arg;
	if (ctp_load32(&ctp_tracer->attached) && !ctp_tracer->exiting &&
	    called_by_exit(__builtin_frame_address(0)))
		exit_in_libc();
}

void exit_init(void)
{
	static const uint32_t *threads;
	void *libc = exit_at ? NULL : dlopen(LIBC_SO, RTLD_LAZY | RTLD_NOLOAD);
	if (libc) {
		exit_at = (uint64_t)dlsym(libc, "exit");
		threads = dlsym(libc, "__nptl_nthreads");
		loaded = loaded_ever();
	}
	ctp_tracer->libc_threads = threads;
}

// In pthread_create, which allocates, too: the program's allocator may be called here.
void exit_watch_thread(void)
{
	static __thread bool watched __attribute__((tls_model("initial-exec")));
	if (watched || !ctp_load32(&ctp_tracer->attached))
		return;
	watched = true;
	__cxa_thread_atexit_impl(thread_ends, NULL, &__dso_handle);
}

// Libctp is initialized before what it was preloaded into, so most other destructors have run.
__attribute__((destructor)) static void detach(void)
{
	if (ctp_load32(&ctp_tracer->attached) && !ctp_tracer->exiting)
		exit_in_libc();
}
