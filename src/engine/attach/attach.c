// SPDX-License-Identifier: MIT
//
// dlopen is called in the process with the name /proc/<pid>/fd/<n>: by it libctp.so knows that it was loaded
// late, and does nothing until ctp_attach is called. All is done on one thread, which slept (remote.c); the
// others run on.
//
// A child of ctp-run does it, the keeper, which no signal but SIGKILL reaches: a process that dies while it
// has a thread call a function leaves it there. The keeper then waits for ctp-run to tell it to unhook the
// process, or to die: that ends the pipe between them, and the process is unhooked, too.
#include "engine/attach/attach.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/living.h"
#include "engine/attach/remote.h"
#include "engine/attach/seed.h"
#include "engine/attach/symbol.h"
#include "engine/target/inherited.h"
#include "engine/target/pidfd.h"
#include "engine/target/proc.h"

#define PATIENCE_NS 3000000000ULL
#define UNHOOK_PATIENCE_NS 10000000000ULL
#define SEARCH_NS 10000000000ULL // at most, for what was there before

static int refuse(struct attach *a, int error, const char *why)
{
	snprintf(a->why, sizeof(a->why), "%s", why);
	return error;
}

static bool same_link(pid_t pid, const char *name)
{
	char path[64], own[64];
	struct stat theirs, ours;
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)living_of(pid), name);
	snprintf(own, sizeof(own), "/proc/self/%s", name);
	return !stat(path, &theirs) && !stat(own, &ours) && theirs.st_ino == ours.st_ino &&
	       theirs.st_dev == ours.st_dev;
}

static int by_status(struct attach *a, const char *status)
{
	uint64_t tracer = proc_field(status, "TracerPid:", 10), group = proc_field(status, "Tgid:", 10);
	if (group && group != (uint64_t)a->pid)
		return refuse(a, -EINVAL, "it is a thread; give the PID of its process");
	if (tracer && tracer != UINT64_MAX) {
		snprintf(a->why, sizeof(a->why),
			 "process %llu traces it (a debugger, strace); end that first",
			 (unsigned long long)tracer);
		return -EBUSY;
	}
	if (proc_field(status, "\nSeccomp:", 10))
		return refuse(
			a, -ENOTSUP,
			"it runs under a seccomp filter, which may end it for a call that ctp makes there; start it with ctp-run");
	const char *shadow = strstr(status, "x86_Thread_features:");
	if (shadow && memmem(shadow, strcspn(shadow, "\n"), "shstk", 5))
		return refuse(a, -ENOTSUP, "a user shadow stack is on: nothing can be called there");
	return 0;
}

static int by_files(struct attach *a)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)living_of(a->pid));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return refuse(
			a, -errno,
			errno == ENOENT ?
				"it has no program: a kernel thread, or one that has ended" :
				"it belongs to somebody else, or has more rights than you; be its user, or root");
	close(fd);
	if (!same_link(a->pid, "ns/pid"))
		return refuse(a, -ENOTSUP, "it is in another PID namespace; start ctp-run there");
	if (!symbol_mapped(a->pid, "ld-linux") && !symbol_mapped(a->pid, "ld-2."))
		return refuse(
			a, -ENOTSUP,
			"it is a static program, or uses another C library than glibc: libctp.so cannot be loaded into it");
	return 0;
}

int attach_check(struct attach *a, pid_t pid, const char *library)
{
	char *status = NULL;
	size_t bytes;
	*a = (struct attach){.pid = pid, .library = -1, .leash = -1, .answer = -1};
	snprintf(a->path, sizeof(a->path), "%s", library);
	if (pid == getpid())
		return refuse(a, -EINVAL, "that is ctp-run itself");
	int e = proc_slurp(pid, "status", &status, &bytes);
	if (e < 0)
		return refuse(a, -ESRCH, "there is no such process");
	e = by_status(a, status);
	free(status);
	if (e || (e = by_files(a)))
		return e;
	a->library = open(library, O_RDONLY | O_CLOEXEC);
	return a->library < 0 ? refuse(a, -errno, "libctp.so cannot be read") : 0;
}

// What loads a library there; glibc before 2.34 has it elsewhere. *mode: with which flags.
static uint64_t loader(pid_t pid, uint64_t *mode)
{
	*mode = RTLD_NOW;
	uint64_t at = symbol_address(pid, "libc.so.6", "dlopen");
	at = at ? at : symbol_address(pid, "libdl.so.2", "dlopen");
	if (at)
		return at;
	*mode |= 0x80000000U; // __RTLD_DLOPEN
	return symbol_address(pid, "libc.so.6", "__libc_dlopen_mode");
}

// Addresses of ctp_attach and its like there.
struct entries {
	uint64_t in, out, seed, unseed;
};

static int load(struct attach *a, struct remote *r, struct entries *at)
{
	char name[64];
	uint64_t mode, fn = loader(a->pid, &mode), handle = 0;
	snprintf(name, sizeof(name), "/proc/%d/fd/%d", (int)getpid(), a->library);
	if (!symbol_mapped(a->pid, a->path)) {
		int e = fn ? remote_call_text(r, fn, name, mode, &handle) : -ENOENT;
		if (e)
			return refuse(
				a, e,
				fn ? "dlopen did not return there" : "no dlopen was found in its C library");
		if (!handle)
			return refuse(
				a, -EACCES,
				"its loader refused libctp.so (another system, or no room for thread-local data)");
	}
	at->in = symbol_address(a->pid, a->path, "ctp_attach");
	at->out = symbol_address(a->pid, a->path, "ctp_detach");
	at->seed = symbol_address(a->pid, a->path, "ctp_seed");
	at->unseed = symbol_address(a->pid, a->path, "ctp_unseed");
	return at->in && at->out && at->seed && at->unseed ?
		       0 :
		       refuse(a, -ENOENT, "the libctp.so that it has loaded is another one");
}

static int unfinished(struct attach *a, int e)
{
	snprintf(a->why, sizeof(a->why), "libctp.so did not finish there: %s", strerror(-e));
	return e;
}

static const char *refusal(int64_t error)
{
	if (error == -ENOLCK)
		return "its loader cannot be held still: dlsym is not the C library's there; start it with ctp-run";
	return error == -EBUSY ? "ctp traces it already, or did, and a thread of it has stayed in a hook" :
				 strerror((int)-error);
}

static int64_t hook(struct attach *a, const char *region, struct entries *at)
{
	struct remote r;
	uint64_t result = 0;
	int e = remote_stop(&r, a->pid, PATIENCE_NS);
	if (e)
		return refuse(a, e, r.why);
	if (remote_allocates_at_once(&r)) // the region is gigabytes, of which little is ever used
		e = refuse(
			a, -ENOTSUP,
			"it locks all memory that it maps (mlockall), ctp's gigabytes too; start it with ctp-run");
	else if (!(e = load(a, &r, at)) && (e = remote_call_text(&r, at->in, region, 0, &result)))
		unfinished(a, e);
	remote_release(&r);
	if (!e && (int64_t)result < 0)
		e = refuse(a, (int)(int64_t)result, refusal((int64_t)result));
	return e ? e : (int64_t)result;
}

static int64_t unhook(struct attach *a, const struct entries *at)
{
	struct remote r;
	uint64_t result = 0;
	int e = remote_stop(&r, a->pid, UNHOOK_PATIENCE_NS);
	if (e)
		return refuse(a, e, r.why);
	e = remote_call(&r, at->out, 0, 0, &result);
	remote_release(&r);
	if (!e && (int64_t)result == -ENOLCK)
		return refuse(a, -ENOLCK, refusal(-ENOLCK));
	return e ? unfinished(a, e) : 0;
}

// ------------------------------------------------------- what was there before

static int give(struct attach *a, uint64_t fn, struct ctp_seeds *s)
{
	struct remote r;
	uint64_t result = 0;
	int e = remote_stop(&r, a->pid, PATIENCE_NS);
	if (e)
		return e;
	e = remote_call_block(&r, fn, s, ctp_seed_bytes(s), &result);
	remote_release(&r);
	return e ? e : (int)(int64_t)result;
}

static struct ctp_seeds *look(const struct attach *a, bool reach)
{
	return seed_find(a->pid, a->region, reach, clock_mono_ns() + SEARCH_NS);
}

// Nothing leads to some of them: again, a second later?
static void tell_unreached(struct attach *a, const struct entries *at, const struct ctp_seeds *was,
			   const struct ctp_seeds *now)
{
	sleep(1);
	struct ctp_seeds *later = look(a, true);
	struct ctp_seeds *both = later ? seed_unreached(was, now, later) : NULL;
	if (both)
		give(a, at->unseed, both);
	free(both);
	free(later);
}

// The program runs on while it is looked at. So it is looked at once more when that is in its tables, where
// all that changes from then on is seen.
static void take_in(struct attach *a, const struct entries *at)
{
	struct ctp_seeds *was = look(a, false);
	if (was && give(a, at->seed, was) >= 0) {
		a->found = seed_taken(was);
		struct ctp_seeds *now = look(a, a->found > 0);
		struct ctp_seeds *gone = now ? seed_gone(was, now, a->region) : NULL;
		if (gone && give(a, at->unseed, gone) >= 0)
			a->found -= gone->ncoroutines;
		if (now && seed_any_unreached(now))
			tell_unreached(a, at, was, now);
		free(gone);
		free(now);
	}
	free(was);
}

// ------------------------------------------------------------- the keeper

struct answer {
	int64_t result;
	uint32_t found;
	char why[sizeof(((struct attach *)0)->why)];
};

static void answer(struct attach *a, int64_t result)
{
	struct answer is = {.result = result, .found = a->found};
	memcpy(is.why, a->why, sizeof(is.why));
	if (write(a->answer, &is, sizeof(is)) != sizeof(is))
		return; // nobody is left to hear it
}

static bool runs(pid_t pid)
{
	char state = pidfd_state(pid);
	return state && state != 'X' && (state != 'Z' || living_of(pid) != pid);
}

static _Noreturn void keep(struct attach *a, const char *region)
{
	struct entries at = {0};
	char word;
	ssize_t n;
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	inherited_drop((const int[]){a->library, a->leash, a->answer}, 3);
	setsid();
	prctl(PR_SET_NAME, "ctp-keeper", 0, 0, 0);
	int64_t r = hook(a, region, &at);
	if (r >= 0)
		take_in(a, &at);
	answer(a, r);
	if (r < 0)
		_exit(0);
	while ((n = read(a->leash, &word, 1)) < 0 && errno == EINTR)
		;
	r = unhook(a, &at);
	answer(a, r);
	while (r < 0 && runs(a->pid) && !sleep(1)) // ctp-run need not wait
		r = unhook(a, &at);
	_exit(0);
}

static int begin(struct attach *a, const char *region)
{
	int to[2], from[2];
	if (pipe2(to, O_CLOEXEC))
		return -errno;
	if (pipe2(from, O_CLOEXEC)) {
		close(to[0]);
		close(to[1]);
		return -EMFILE;
	}
	a->keeper = fork();
	if (!a->keeper) {
		close(to[1]);
		close(from[0]);
		a->leash = to[0];
		a->answer = from[1];
		keep(a, region);
	}
	int e = a->keeper < 0 ? -errno : 0;
	a->keeper = a->keeper < 0 ? 0 : a->keeper;
	close(to[0]);
	close(from[1]);
	a->leash = to[1];
	a->answer = from[0];
	return e;
}

static int64_t hear(struct attach *a)
{
	struct answer is;
	ssize_t n;
	while ((n = read(a->answer, &is, sizeof(is))) < 0 && errno == EINTR)
		;
	if (n != sizeof(is))
		return refuse(a, -EIO, "the process that attaches was killed");
	memcpy(a->why, is.why, sizeof(a->why));
	a->found = is.found;
	return is.result;
}

static void end(struct attach *a, bool wait)
{
	if (a->leash >= 0)
		close(a->leash);
	if (a->answer >= 0)
		close(a->answer);
	a->leash = a->answer = -1;
	while (wait && a->keeper && waitpid(a->keeper, NULL, 0) < 0 && errno == EINTR)
		;
	a->keeper = 0;
}

int64_t attach_hook(struct attach *a, const char *region)
{
	int e = begin(a, region);
	int64_t r = e ? refuse(a, e, strerror(-e)) : hear(a);
	if (r < 0)
		end(a, true);
	return r;
}

int attach_unhook(struct attach *a, void (*meanwhile)(void *arg), void *arg)
{
	struct pollfd answers = {.fd = a->answer, .events = POLLIN};
	if (!a->keeper)
		return 0;
	bool told = write(a->leash, "x", 1) == 1;
	while (told && poll(&answers, 1, 1) <= 0)
		meanwhile(arg);
	int r = told ? (int)hear(a) : -EIO;
	end(a, !r);
	return r;
}

void attach_deinit(struct attach *a)
{
	end(a, true);
	if (a->library >= 0)
		close(a->library);
	a->library = -1;
}
