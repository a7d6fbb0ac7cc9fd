// SPDX-License-Identifier: MIT
//
// Preloaded alone: the first process in which the library is loaded makes the region and
// starts the engine, ctp-run --serve, which is installed beside the library. The program must
// not notice: the engine is a grandchild that init adopts. The child between is made without
// an exit signal and reaped here, so that neither SIGCHLD nor the program's wait calls ever
// show it, and no debugger follows it. Runs in the constructor, before any thread and before
// the gates are open.
#include "preload/process/standalone.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "cpu.h"
#include "preload/guest/say.h"
#include "preload/guest/emit.h"
#include "preload/guest/real.h"

#ifndef __WCLONE
#define __WCLONE 0x80000000
#endif

extern char **environ;

static bool engine_path(char *out, size_t size)
{
	static const char *const places[] = {"../engine/ctp-run", CTP_BINDIR_FROM_LIB "/ctp-run", "ctp-run"};
	Dl_info info;
	if (!dladdr((void *)engine_path, &info) || !info.dli_fname)
		return false;
	const char *slash = strrchr(info.dli_fname, '/');
	int dir = slash ? (int)(slash - info.dli_fname) + 1 : 0;
	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (snprintf(out, size, "%.*s%s", dir, info.dli_fname, places[i]) < (int)size &&
		    access(out, X_OK) == 0)
			return true;
	return false;
}

// Without LD_PRELOAD: the engine must not trace itself.
static char **engine_env(void)
{
	static char *env[4096];
	unsigned n = 0;
	for (char **e = environ; e && *e && n < 4095; e++)
		if (strncmp(*e, "LD_PRELOAD=", 11) != 0)
			env[n++] = *e;
	env[n] = NULL;
	return env;
}

static bool clock_is_tsc(void)
{
	char name[8] = "";
	int fd = !CPU_HAS_TSC ? -1 :
				real_open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
					  O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = real_read(fd, name, sizeof(name) - 1);
	real_close(fd);
	return n >= 4 && memcmp(name, "tsc\n", 4) == 0;
}

// The region: a memfd, laid out, with its clock. Returns its descriptor, or -errno
// and what it was that failed.
static int make_region(const char **what)
{
	struct ctp_header h = {0};
	int fd = (int)cpu_syscall(SYS_memfd_create, (long)"ctp", MFD_CLOEXEC | MFD_ALLOW_SEALING, 0, 0, 0, 0);
	*what = "cannot make the region: memfd_create";
	if (fd < 0)
		return fd;
	ctp_region_layout(&h, CTP_STATIONS_DEFAULT, CTP_RING_BYTES);
	h.ext.clock_kind = clock_is_tsc() ? CTP_CLOCK_TSC : CTP_CLOCK_MONOTONIC;
	h.ext.clock_ns0 = guest_mono_ns();
	h.ext.clock_ticks0 = h.ext.clock_kind == CTP_CLOCK_TSC ? cpu_ticks() : h.ext.clock_ns0;
	h.ext.options = CTP_OPT_SELF | CTP_OPT_ADAPTIVE;
	*what = "the region is larger than a file may be (ulimit -f)";
	struct rlimit most;
	if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur < h.ext.region_bytes) { // else SIGXFSZ
		real_close(fd);
		return -EFBIG;
	}
	*what = "cannot make the region";
	if (ftruncate(fd, (off_t)h.ext.region_bytes) || real_pwrite(fd, &h, sizeof(h), 0) != sizeof(h)) {
		int e = errno;
		real_close(fd);
		return -e;
	}
	real_fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	return fd;
}

// In the child, then the grandchild, whose pid goes to *born: nothing but system calls.
static void become_engine(const char *path, char **argv, char **env, int fd, uint32_t *born)
{
	if (cpu_syscall(SYS_clone, CLONE_PARENT_SETTID, 0, (long)born, 0, 0, 0) != 0)
		cpu_syscall(SYS_exit_group, 0, 0, 0, 0, 0, 0);
	cpu_syscall(SYS_setsid, 0, 0, 0, 0, 0, 0);
	cpu_syscall(SYS_fcntl, fd, F_SETFD, 0, 0, 0, 0);
	cpu_syscall(SYS_execve, (long)path, (long)argv, (long)env, 0, 0, 0);
	cpu_syscall(SYS_exit_group, 127, 0, 0, 0, 0, 0);
}

// Whether our parent was started under ctp-run: then we are its child, and somebody
// has taken the rest of our environment away. Its trace is not ours to move.
static bool child_of_traced(void)
{
	static char text[128 << 10];
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)cpu_syscall(SYS_getppid, 0, 0, 0, 0, 0, 0));
	int fd = real_open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	for (ssize_t got; fd >= 0 && (got = real_read(fd, text + n, sizeof(text) - n)) > 0;)
		n += (size_t)got;
	if (fd >= 0)
		real_close(fd);
	return memmem(text, n, "CTP_SHM_PATH=/", 14) != NULL;
}

// Waits until the engine has written its pid, which it does when it is ready; not for one that has died.
static uint32_t wait_ready(struct ctp_header *h, const uint32_t *born)
{
	struct timespec nap = {0, 200000};
	for (int i = 0; i < 10000 && !ctp_load32(&h->ext.engine_pid); i++) {
		if (i % 50 == 49 && !emit_lives(ctp_load32(born)))
			break;
		cpu_syscall(SYS_nanosleep, (long)&nap, 0, 0, 0, 0, 0);
	}
	return ctp_load32(&h->ext.engine_pid);
}

// Starts the engine at `path`; it keeps the region at the same descriptor number. Its pid;
// 0: it did not start; UINT32_MAX: it cannot make the trace.
static uint32_t start_engine(const char *path, int fd, int pid)
{
	char serve[64];
	struct ctp_header *h = real_mmap(NULL, sizeof(*h), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	uint32_t *born = real_mmap(NULL, sizeof(*born), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				   -1, 0),
		 engine = 0;
	snprintf(serve, sizeof(serve), "--serve=%d,%d", fd, pid);
	char *argv[] = {"ctp-run", serve, NULL};
	bool mapped = h != MAP_FAILED && born != MAP_FAILED;
	long child = mapped ? cpu_syscall(SYS_clone, CLONE_UNTRACED, 0, 0, 0, 0, 0) : -1;
	if (child == 0)
		become_engine(path, argv, engine_env(), fd, born);
	int status;
	while (child > 0 && cpu_syscall(SYS_wait4, child, (long)&status, (long)__WCLONE, 0, 0, 0) == -EINTR)
		;
	if (child > 0)
		engine = wait_ready(h, born);
	if (h != MAP_FAILED)
		real_munmap(h, sizeof(*h));
	if (born != MAP_FAILED)
		real_munmap(born, sizeof(*born));
	return engine;
}

const char *standalone_start(void)
{
	if (child_of_traced()) {
		say_debug(
			"not attached: the parent is traced, and has left CTP_SHM_PATH out of this environment");
		return NULL;
	}
	static char path[4096], shm[64];
	int subreaper = 0, pid = (int)cpu_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
	prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
	if (pid == 1 || subreaper) {
		say_untraced("a process that adopts children would see the engine",
			     "start it with ctp-run instead");
		return NULL;
	}
	if (!engine_path(path, sizeof(path))) {
		say_untraced("no ctp-run beside libctp.so",
			     "install both, or start the program with ctp-run");
		return NULL;
	}
	if (access("/proc/self", F_OK)) {
		say_untraced("/proc is not mounted", "memory is shared with ctp-run through it");
		return NULL;
	}
	const char *what;
	int fd = make_region(&what);
	if (fd < 0) {
		say_untraced(what, strerror(-fd));
		return NULL;
	}
	uint32_t engine = start_engine(path, fd, pid);
	real_close(fd);
	if (engine == UINT32_MAX) {
		say_untraced("the trace cannot be made",
			     "is something else in its place? CTP_OUTPUT names another");
		return NULL;
	}
	if (!engine) {
		say_untraced("the engine did not start", path);
		return NULL;
	}
	prctl(PR_SET_PTRACER, (unsigned long)engine);
	snprintf(shm, sizeof(shm), "/proc/%u/fd/%d", engine, fd);
	setenv("CTP_SHM_PATH", shm, 1);
	return shm;
}
