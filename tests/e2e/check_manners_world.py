# SPDX-License-Identifier: MIT
"""A guest's manners where little is permitted: containers' rules, limits, other users, no /proc. What works there
works, and what does not is said in one line, while the program runs as without us."""
import os
import pathlib
import re
import shutil
import subprocess

from check_manners import BLOCK, said
from check_manners_tools import built
from check_run import NOBODY, as_nobody, says
from harness import OURS, Skip, equal, need, timed, tool, until, witness

COUNTS = ("basic",)
EVERY = "membarrier,process_vm_readv,ptrace,kcmp"


def fares(case, done, bare, traced=None, line=None):
    """The program's status and output are its own; it was traced, or one line of ours says why not."""
    equal((done.status, done.out), (bare.status, bare.out), f"status and stdout ({done})")
    equal([x for x in done.err.splitlines() if not x.startswith(OURS)], bare.err.splitlines(), "stderr")
    untraced = [x for x in done.err.splitlines() if "untraced" in x]
    if traced is None:
        traced = not untraced
    if traced:
        equal(untraced, [], "lines about it")
        trace = case.report()[1]["trace"]
        equal((trace["switches"], trace["lost"]), (said(done, "switches"), 0), "switches, lost")
    else:
        equal(len(untraced), 1, f"lines that say so: {done.err}")
        need(line in untraced[0], f"does not say {line!r}: {untraced[0]}")


def filtered(case, error, calls):
    return [case.target("filter"), error, calls]


def three_ways(case, words, alone=True):
    """ctp-run among the rules; the program alone; the library alone. With the name of each."""
    program = [case.target("counts"), *COUNTS]
    yield "both", case.run(*words, case.run_tool, BLOCK, *program)
    yield "target", case.ctp(BLOCK, *words, *program)
    if alone:
        yield "alone", case.run(*words, "env", f"LD_PRELOAD={case.lib}", *program)
        until(lambda: not (case.dir / "ctp.data").exists() or '"complete":true' in
              (case.dir / "ctp.data/ctp/trace.json").read_text(), "the end of the trace")


def check_seccomp(case):
    """System calls that a container forbids: what we do not need to trace is not missed."""
    bare = case.run(case.target("counts"), *COUNTS)
    probe = case.run(*filtered(case, "eperm", "kcmp"), "true")
    if probe.status != 0:
        raise Skip(probe.err)
    for error in ("eperm", "enosys"):
        for calls in (EVERY, "clone3,statx,inotify_init1,setsid,socket,epoll_pwait2,prctl"):
            for way, done in three_ways(case, filtered(case, error, calls)):
                fares(case, done, bare, traced=True)
        done = case.run(*filtered(case, error, "memfd_create"), "env", f"LD_PRELOAD={case.lib}", case.target("counts"),
                        *COUNTS)
        fares(case, done, bare, traced=False, line="memfd_create")
        done = case.run(*filtered(case, error, "memfd_create"), case.run_tool, case.target("counts"), *COUNTS)
        equal(done.status, 125, "ctp-run's status without a region")
        says(done, "memfd", "--shm-file")
        done = case.run(*filtered(case, error, "memfd_create"), case.run_tool, BLOCK, "--shm-file=region",
                        case.target("counts"), *COUNTS)
        fares(case, done, bare, traced=True)
        done = case.ctp(*filtered(case, error, "madvise"), case.target("counts"), *COUNTS)
        fares(case, done, bare, traced=False, line="MADV_WIPEONFORK")


def check_seccomp_lone_engine(case):
    """Without pidfd_open, too, the engine of a library preloaded alone stays as long as the program."""
    bare = case.run(case.target("counts"), *COUNTS)
    for error in ("eperm", "enosys"):
        for _ in range(3):
            done = case.run(*filtered(case, error, "pidfd_open"), "env", f"LD_PRELOAD={case.lib}", case.target("counts"),
                            *COUNTS)
            until(lambda: '"complete":true' in (case.dir / "ctp.data/ctp/trace.json").read_text(), "the end of the trace")
            fares(case, done, bare, traced=True)


def check_seccomp_verdict(case):
    """What the witness may not look at it does not know: no PROVEN without memory, nor for a coroutine that is held."""
    for calls in ("process_vm_readv", "ptrace", "kcmp", EVERY):
        for keep in ("none", "table"):
            process = case.start(*filtered(case, "eperm", calls), case.run_tool, "-q", case.target("lost"),
                                 *(["keep=table"] if keep == "table" else []), "n=2")
            process.wait_for("ready")
            until(lambda: len(witness(case.dir / "ctp.data")) >= 2, "the witness")
            process.signal(15)
            process.done()
            found = case.report()[1]["findings"]
            equal([f["count"] for f in found], [2], f"without {calls}, keep={keep}: findings")
            if keep == "table":
                need(found[0]["verdict"] != "proven", f"without {calls}: PROVEN, though a table holds them")


SEALED = """
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
static ucontext_t one, two;
static char stack[65536];
static void body(void) { for (;;) swapcontext(&two, &one); }
int main(void)
{
	struct sock_filter f[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), ALLOW(write), ALLOW(exit_group),
				  ALLOW(rt_sigprocmask), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
	struct sock_fprog p = {sizeof(f) / sizeof(*f), f};
	getcontext(&two);
	two.uc_stack.ss_sp = stack;
	two.uc_stack.ss_size = sizeof(stack);
	makecontext(&two, body, 0);
	for (int i = 0; i < 1000; i++) {
		if (i == 500 && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || SEAL))
			return 1;
		swapcontext(&one, &two);
	}
	(void)!write(1, "switched\\n", 9);
	_exit(4);
}
"""


def check_seccomp_kills(case):
    """A program that may write, switch and end, and is killed for any other call, ends as without us."""
    source = case.dir / "sealed.c"
    source.write_text(SEALED)
    for how in ("prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p)", "syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p)",
                "syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &p) < 0"):
        program = built(case, "sealed", source, f"-DSEAL={how}")
        bare = case.run(program)
        equal((bare.status, bare.out), (4, "switched\n"), f"{how}: {bare}")
        for options in (("-q", BLOCK), ("-q", BLOCK, "-f")):
            done = case.ctp(*options, program)
            equal((done.status, done.out, done.err), (4, "switched\n", ""), f"{how}: {options}")
            equal(case.report()[1]["trace"]["switches"], 2000, "switches")


REFUSED = """
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
enum { STACK = 65536 };
struct pair { ucontext_t one, two; };
static void body(int low, int high)
{
	struct pair *p = (void *)((unsigned long)(unsigned)low | (unsigned long)(unsigned)high << 32);
	for (;;) swapcontext(&p->two, &p->one);
}
static void *switches(void *n)
{
	struct pair *p = malloc(sizeof(*p));
	getcontext(&p->two);
	p->two.uc_stack.ss_sp = malloc(STACK);
	p->two.uc_stack.ss_size = STACK;
	makecontext(&p->two, (void (*)(void))body, 2, (int)(unsigned long)p, (int)((unsigned long)p >> 32));
	for (long i = 0; i < (long)n; i++) swapcontext(&p->one, &p->two);
	free(p->two.uc_stack.ss_sp);
	free(p);
	return NULL;
}
int main(void)
{
	struct sock_filter f[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), ALLOW(write), ALLOW(exit_group),
				  ALLOW(exit), ALLOW(mmap), ALLOW(munmap), ALLOW(mprotect), ALLOW(brk), ALLOW(rt_sigprocmask), ALLOW(close), ALLOW(rseq), ALLOW(set_robust_list),
				  ALLOW(clone), ALLOW(clone3), ALLOW(futex), ALLOW(dup), ALLOW(wait4), ALLOW(newfstatat), ALLOW(fstat),
				  BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ERROR)};
	struct sock_fprog p = {sizeof(f) / sizeof(*f), f};
	pthread_t t;
	int status = 0, e;
	switches((void *)100);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p)) return 77;
	switches((void *)100000);
	if (!(e = pthread_create(&t, NULL, switches, (void *)1000))) pthread_join(t, NULL);
	printf("thread %d\\n", e);
	printf("dup %d close %d\\n", dup(1) > 0, close(9999));
	printf("pipe %d %d\\n", pipe((int[2]){0}), errno);
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		switches((void *)10);
		_exit(3);
	}
	printf("child %d %d\\n", waitpid(child, &status, 0) == child, WEXITSTATUS(status));
	return 5;
}
"""


def check_seccomp_refuses(case):
    """A program for which all but a few calls fail, libctp's own among them, does and says the same, and is not held up."""
    source = case.dir / "refused.c"
    source.write_text(REFUSED)
    for error in ("EPERM", "ENOSYS"):
        program = built(case, "refused", source, f"-DERROR={error}")
        bare = case.run(program)
        equal((bare.status, bare.out.count("\n")), (5, 4), f"{error}: {bare}")
        for options in ((), (BLOCK, "--ring-size=64K"), ("-f",)):
            done = case.ctp("-q", *options, program)
            equal((done.status, done.out, done.err), (5, bare.out, ""), f"{error}: {options}")
            trace = case.report()[1]["trace"]
            need(trace["switches"] >= 2 * 101100, f"{error}: {options}: {trace['switches']} switches")


# ---- limits

def limited(limit):
    return ["sh", "-c", f'ulimit {limit}; exec "$@"', "sh"]


def check_limits(case):
    """Limits of the program's: it is traced, or runs untraced and one line says what was not enough."""
    bare = case.run(case.target("counts"), *COUNTS)
    for limit, line in (("-v 4000000", "memory"), ("-v 200000", "memory"), ("-d 4000", None), ("-f 1000", None),
                        ("-n 16", None), ("-n 5", None), ("-s 128", None), ("-l 0", None)):
        done = case.ctp(BLOCK, *limited(limit), case.target("counts"), *COUNTS)
        fares(case, done, bare, traced=line is None, line=line)


def check_limits_alone(case):
    """The same for the library alone, whose engine lives with the same limits."""
    bare = case.run(case.target("counts"), *COUNTS)
    for limit, line in (("-v 4000000", "engine did not start"), ("-f 1000", "ulimit -f"), ("-n 16", None), ("-n 5", "trace")):
        shutil.rmtree(case.dir / "ctp.data", ignore_errors=True)
        done = case.run(*limited(limit), "env", f"LD_PRELOAD={case.lib}", case.target("counts"), *COUNTS)
        fares(case, done, bare, traced=line is None, line=line)


# ---- other users, other mounts

def inside(case, mounts, *words):
    """Runs words in a mount namespace of its own, after these mounts."""
    if os.geteuid() != 0:
        raise Skip("needs root, to mount")
    probe = case.run(tool("unshare"), "-m", "sh", "-ec", mounts)
    if probe.status != 0:
        raise Skip(f"not permitted here: {probe.err.strip()[-200:]}")
    return case.run("unshare", "-m", "sh", "-ec", f'{mounts}; exec "$@"', "sh", *words)


def check_small_shm(case):
    """A memfd is not limited by what is mounted for shared memory."""
    bare = case.run(case.target("counts"), *COUNTS)
    done = inside(case, "mount -t tmpfs -o size=64k none /dev/shm", case.run_tool, BLOCK, case.target("counts"), *COUNTS)
    fares(case, done, bare, traced=True)


def check_read_only_root(case):
    """Nothing can be written but the trace's own place."""
    bare = case.run(case.target("counts"), *COUNTS)
    mounts = f"mount --bind {case.dir} {case.dir}; mount -o remount,bind,ro /; mount -t tmpfs -o ro none /tmp/nothing 2>/dev/null || :"
    if not str(case.dir).startswith(("/tmp", "/var")):
        raise Skip("the check's directory lies elsewhere")
    done = inside(case, mounts, "sh", "-c", f'! touch /x 2>/dev/null && cd {case.dir} && exec "$@"', "sh", case.run_tool, BLOCK,
                  case.target("counts"), *COUNTS)
    fares(case, done, bare, traced=True)
    done = inside(case, mounts, "sh", "-c", f'cd {case.dir} && exec "$@"', "sh", case.run_tool, "-o", "/ctp.trace",
                  case.target("counts"), *COUNTS)
    equal(done.status, 125, "status where the trace cannot be made")
    says(done, "/ctp.trace")


def check_hidden_processes(case):
    """Another user's /proc (hidepid=2): one's own child can be seen, and that is enough."""
    process = as_nobody(case, "true")
    process.done()
    place = case.dir / "nobody"
    tools = [str(place / p.relative_to(case.build)) for p in (case.run_tool, case.target("lost"))]
    nobody = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "sh", "-c", f'cd {place}/home && exec "$@"', "sh")
    done = timed(lambda option: inside(case, "mount -t proc -o hidepid=2 none /proc", *nobody, tools[0], option, tools[1], "n=3"), 2)
    equal(done.status, 124, f"{done}")
    found = case.report("nobody/home/ctp.data")[1]["findings"]
    equal([f["count"] for f in found], [3], "findings")


def check_first_process(case):
    """As PID 1 of a container ctp-run traces; the library alone would be seen, and says so."""
    if os.geteuid() != 0:
        raise Skip("needs root, for a PID namespace")
    words = [tool("unshare"), "-p", "-f", "--mount-proc"]
    if case.run(*words, "true").status != 0:
        raise Skip("no PID namespace here")
    bare = case.run(case.target("counts"), *COUNTS)
    fares(case, case.run(*words, case.run_tool, BLOCK, case.target("counts"), *COUNTS), bare, traced=True)
    done = case.run(*words, "env", f"LD_PRELOAD={case.lib}", case.target("counts"), *COUNTS)
    fares(case, done, bare, traced=False, line="ctp-run")


def check_no_ptrace(case):
    """Without CAP_SYS_PTRACE, and not dumpable, or with nothing but one's own children: no false verdict."""
    if os.geteuid() != 0:
        raise Skip("needs root, to drop capabilities")
    done = case.run(tool("setpriv"), "--bounding-set=-sys_ptrace", "--inh-caps=-all", f"--reuid={NOBODY}", f"--regid={NOBODY}",
                    "--clear-groups", "true")
    if done.status != 0:
        raise Skip(f"setpriv: {done.err}")
    done = timed(lambda option: as_nobody(case, case.run_tool, option, case.target("lost"), "n=3", "keep=table").done(), 2)
    equal(done.status, 124, "status")
    found = case.report("nobody/home/ctp.data")[1]["findings"]
    need(found and found[0]["verdict"] != "proven", f"PROVEN, though a table holds them: {found}")


def libraries(path):
    out = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
    return re.findall(r"(/\S+)", out)


def check_no_proc(case):
    """A jail without /proc: the program runs as without us, and a line says what is missing."""
    if os.geteuid() != 0:
        raise Skip("needs root, to chroot")
    jail = case.dir / "jail"
    env = pathlib.Path(tool("env"))
    for path in (case.run_tool, case.lib, case.target("counts"), env):
        place = jail / (path.relative_to(case.build) if path != env else "env")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
        for lib in libraries(path):
            (jail / lib[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(lib, jail / lib[1:])
    inner = {p: "/" + str(p.relative_to(case.build)) for p in (case.run_tool, case.lib, case.target("counts"))}
    bare = case.run(tool("chroot"), jail, inner[case.target("counts")], *COUNTS)
    equal(bare.status, 0, f"{bare}")
    done = case.run("chroot", jail, "/env", f"LD_PRELOAD={inner[case.lib]}", inner[case.target("counts")], *COUNTS)
    fares(case, done, bare, traced=False, line="/proc")
    done = case.run("chroot", jail, inner[case.run_tool], inner[case.target("counts")], *COUNTS)
    equal(done.status, 125, "ctp-run's status")
    says(done, "/proc")


def check_mlockall(case):
    """A program that locks its memory may lock as much as without us, with rights and without, and no more is locked."""
    for flags in ("1", "2", "3", "5", "7", "4"):
        bare, done = case.run(case.target("locked"), flags), case.ctp("-q", case.target("locked"), flags)
        equal((done.status, done.out, done.err), (bare.status, bare.out, bare.err), f"as root, flags {flags}")
        need("much 0 resident 0" in bare.out, bare)
        bare = as_nobody(case, case.target("locked"), flags).done()
        done = as_nobody(case, case.run_tool, "-q", case.target("locked"), flags).done()
        equal((done.status, done.out, done.err), (bare.status, bare.out, bare.err), f"without rights, flags {flags}")
    found = case.report("nobody/home/ctp.data")[1]["trace"]
    equal(found["switches"], 2, "switches")


CHECKS = [(name[len("check_"):], function) for name, function in list(globals().items())
          if name.startswith("check_") and callable(function) and function.__module__ == __name__]
