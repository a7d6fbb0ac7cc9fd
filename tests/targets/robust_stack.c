// SPDX-License-Identifier: MIT
//
// robust_stack.c - how much of a coroutine's stack each call needs: the stack is
// painted, the call is made from a fixed depth, the deepest change is printed.
//   t-stack: "NAME FIRST LATER", bytes, a line for each function in the table
//   t-stack tiny BYTES: makes all calls but the large ones with so much stack left
//   t-stack exit NAME BYTES: ends by that call with so much left
// A guard page lies below. Linked with -z now: lazy binding alone needs more.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"
#ifdef HAVE_FCONTEXT
#include "fcontext.h"
#endif

enum { BYTES = 256 << 10, PAINT = 0x5a };

// What the fortified headers and <setjmp.h> call.
__sighandler_t bsd_signal(int number, __sighandler_t handler);
void __longjmp_chk(jmp_buf env, int val) __attribute__((noreturn));
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t bytes);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask, size_t bytes);
ssize_t __read_chk(int fd, void *buf, size_t n, size_t buflen);
ssize_t __pread_chk(int fd, void *buf, size_t n, off_t off, size_t buflen);
ssize_t __pread64_chk(int fd, void *buf, size_t n, off64_t off, size_t buflen);
ssize_t __recv_chk(int fd, void *buf, size_t n, size_t buflen, int flags);
ssize_t __recvfrom_chk(int fd, void *buf, size_t n, size_t buflen, int flags, struct sockaddr *addr,
		       socklen_t *len);

static ucontext_t here, there, echo_uc, me, other;
static sigjmp_buf env;
static volatile int once;
static int fds[2], ep, counter, file, spare, fresh, listener, timer, status, sig, two[2];
static char byte, *low, *from, echo_stack[64 << 10], other_stack[16384], path[32];
static void *memory, *chunk, *module;
static FILE *stream, *command;
static DIR *folder;
static struct epoll_event ev;
static struct pollfd polled = {.events = POLLIN};
static fd_set set;
static struct timeval at_once;
static struct iovec vec = {&byte, 1};
static struct msghdr msg;
static struct mmsghdr mmsg;
static struct sockaddr_un nobody = {.sun_family = AF_UNIX, .sun_path = "/nobody/there"};
static sigset_t usr2;
static const struct timespec no_time;
static const struct itimerspec never;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t none, some; // of zero
static const struct addrinfo numeric = {.ai_flags = AI_NUMERICHOST};
static struct addrinfo *names;
static const struct sigaction ignores = {.sa_handler = SIG_IGN};
static stack_t alternate;
static pthread_t thread;

static void on_term(int s)
{
	(void)s;
}

static void nothing(void)
{
}

static void *ends_at_once(void *arg)
{
	return arg;
}

static long child(pid_t pid)
{
	if (pid == 0)
		_exit(0);
	return pid;
}

#ifdef HAVE_FCONTEXT
static fcontext_t boosted;
static void boosted_body(struct transfer t)
{
	for (;;)
		t = jump_fcontext(t.from, NULL);
}
static struct transfer as_is(struct transfer t)
{
	return t;
}
#define OTHER_TOP (other_stack + sizeof(other_stack))
#define FCONTEXT(X) \
	X(make_fcontext, 0, make_fcontext(OTHER_TOP, sizeof(other_stack), boosted_body)) \
	X(jump_fcontext, 0, boosted = jump_fcontext(boosted, NULL).from) \
	X(ontop_fcontext, 0, boosted = ontop_fcontext(boosted, NULL, as_is).from)
#else
#define FCONTEXT(X)
#endif

static char *words[] = {"x", NULL};
static pid_t spawned;
#define LOCKED(call) (pthread_mutex_lock(&mutex), (void)(call), pthread_mutex_unlock(&mutex))
#define JUMPS(save, jump) (once = 0, save ? 0 : (jump, 0))

// name, whether the real function is large itself (or makes a child), the call
#define CALLS(X) \
	X(getcontext, 0, getcontext(&other)) \
	X(makecontext, 0, (makecontext(&other, nothing, 0), 0)) \
	X(setcontext, 0, (once = 0, getcontext(&me), once++ ? 0 : setcontext(&me))) \
	X(swapcontext, 0, swapcontext(&me, &echo_uc)) \
	X(setjmp, 0, JUMPS((setjmp)(env), longjmp(env, 1))) \
	X(longjmp, 0, JUMPS(_setjmp(env), longjmp(env, 1))) \
	X(_setjmp, 0, JUMPS(_setjmp(env), _longjmp(env, 1))) \
	X(_longjmp, 0, JUMPS(_setjmp(env), _longjmp(env, 1))) \
	X(__sigsetjmp, 0, JUMPS(sigsetjmp(env, 1), siglongjmp(env, 1))) \
	X(siglongjmp, 0, JUMPS(sigsetjmp(env, 1), siglongjmp(env, 1))) \
	X(__longjmp_chk, 0, JUMPS(_setjmp(env), __longjmp_chk(env, 1))) \
	X(sigaltstack, 0, sigaltstack(&alternate, NULL)) \
	FCONTEXT(X) \
	X(dlclose, 1, dlclose(module)) \
	X(free, 0, (free(chunk), 0)) \
	X(mlockall, 0, mlockall(MCL_CURRENT)) \
	X(madvise, 0, madvise(memory, 4096, MADV_DONTNEED)) \
	X(mprotect, 0, mprotect(memory, 4096, PROT_READ | PROT_WRITE)) \
	X(mmap, 0, mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) \
	X(mmap64, 0, mmap64(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) \
	X(munmap, 0, munmap(memory, 4096)) \
	X(__open_2, 0, __open_2("/dev/null", O_RDONLY)) \
	X(__open64_2, 0, __open64_2("/dev/null", O_RDONLY)) \
	X(__openat_2, 0, __openat_2(AT_FDCWD, "/dev/null", O_RDONLY)) \
	X(__openat64_2, 0, __openat64_2(AT_FDCWD, "/dev/null", O_RDONLY)) \
	X(accept, 0, accept(listener, NULL, NULL)) \
	X(accept4, 0, accept4(listener, NULL, NULL, 0)) \
	X(creat, 0, creat("/dev/null", 0600)) \
	X(creat64, 0, creat64("/dev/null", 0600)) \
	X(dup, 0, dup(fds[0])) \
	X(epoll_create, 0, epoll_create(1)) \
	X(epoll_create1, 0, epoll_create1(0)) \
	X(eventfd, 0, eventfd(0, 0)) \
	X(fcntl, 0, fcntl(fds[0], F_DUPFD_CLOEXEC, 0)) \
	X(fcntl64, 0, fcntl64(fds[0], F_DUPFD_CLOEXEC, 0)) \
	X(fopen, 1, stream = fopen("/dev/null", "r")) \
	X(fopen64, 1, stream = fopen64("/dev/null", "r")) \
	X(memfd_create, 0, memfd_create("x", 0)) \
	X(mkostemp, 0, mkostemp(path, 0)) \
	X(mkstemp, 0, mkstemp(path)) \
	X(open, 0, open("/dev/null", O_RDONLY)) \
	X(open64, 0, open64("/dev/null", O_RDONLY)) \
	X(openat, 0, openat(AT_FDCWD, "/dev/null", O_RDONLY)) \
	X(openat64, 0, openat64(AT_FDCWD, "/dev/null", O_RDONLY)) \
	X(opendir, 1, folder = opendir("/")) \
	X(pipe, 0, pipe(two)) \
	X(pipe2, 0, pipe2(two, 0)) \
	X(popen, 1, command = popen("true", "r")) \
	X(signalfd, 0, signalfd(-1, &usr2, 0)) \
	X(socket, 0, socket(AF_UNIX, SOCK_STREAM, 0)) \
	X(socketpair, 0, socketpair(AF_UNIX, SOCK_STREAM, 0, two)) \
	X(timerfd_create, 0, timerfd_create(CLOCK_MONOTONIC, 0)) \
	X(timerfd_settime, 0, timerfd_settime(timer, 0, &never, NULL)) \
	X(close, 0, close(spare)) \
	X(close_range, 0, close_range((unsigned)spare, (unsigned)spare, 0)) \
	X(closedir, 1, closedir(folder)) \
	X(closefrom, 0, (closefrom(1000), 0)) \
	X(dup2, 0, dup2(fds[0], spare)) \
	X(dup3, 0, dup3(fds[0], spare, 0)) \
	X(fclose, 1, fclose(stream)) \
	X(pclose, 1, pclose(command)) \
	X(unshare, 0, unshare(0)) \
	X(connect, 0, connect(fresh, (struct sockaddr *)&nobody, sizeof(nobody))) \
	X(eventfd_write, 0, eventfd_write(counter, 1)) \
	X(eventfd_read, 0, eventfd_read(counter, &(eventfd_t){0})) \
	X(listen, 0, listen(listener, 8)) \
	X(pread, 0, pread(file, &byte, 1, 0)) \
	X(pread64, 0, pread64(file, &byte, 1, 0)) \
	X(preadv, 0, preadv(file, &vec, 1, 0)) \
	X(preadv64, 0, preadv64(file, &vec, 1, 0)) \
	X(pwrite, 0, pwrite(file, &byte, 1, 0)) \
	X(pwrite64, 0, pwrite64(file, &byte, 1, 0)) \
	X(pwritev, 0, pwritev(file, &vec, 1, 0)) \
	X(pwritev64, 0, pwritev64(file, &vec, 1, 0)) \
	X(read, 0, read(fds[0], &byte, 1)) \
	X(readv, 0, readv(fds[0], &vec, 1)) \
	X(recv, 0, recv(fds[0], &byte, 1, 0)) \
	X(recvfrom, 0, recvfrom(fds[0], &byte, 1, 0, NULL, NULL)) \
	X(recvmmsg, 0, recvmmsg(fds[0], &mmsg, 1, 0, NULL)) \
	X(recvmsg, 0, recvmsg(fds[0], &msg, 0)) \
	X(send, 0, send(fds[1], &byte, 1, 0)) \
	X(sendfile, 0, sendfile(fds[1], file, NULL, 1)) \
	X(sendfile64, 0, sendfile64(fds[1], file, NULL, 1)) \
	X(sendmmsg, 0, sendmmsg(fds[1], &mmsg, 1, 0)) \
	X(sendmsg, 0, sendmsg(fds[1], &msg, 0)) \
	X(sendto, 0, sendto(fds[1], &byte, 1, 0, NULL, 0)) \
	X(write, 0, write(fds[1], &byte, 1)) \
	X(writev, 0, writev(fds[1], &vec, 1)) \
	X(__read_chk, 0, __read_chk(fds[0], &byte, 1, 1)) \
	X(__pread_chk, 0, __pread_chk(file, &byte, 1, 0, 1)) \
	X(__pread64_chk, 0, __pread64_chk(file, &byte, 1, 0, 1)) \
	X(__recv_chk, 0, __recv_chk(fds[0], &byte, 1, 1, 0)) \
	X(__recvfrom_chk, 0, __recvfrom_chk(fds[0], &byte, 1, 1, 0, NULL, NULL)) \
	X(epoll_ctl, 0, epoll_ctl(ep, EPOLL_CTL_ADD, spare, &ev)) \
	X(epoll_pwait, 0, epoll_pwait(ep, &ev, 1, 0, NULL)) \
	X(epoll_pwait2, 0, epoll_pwait2(ep, &ev, 1, &no_time, NULL)) \
	X(epoll_wait, 0, epoll_wait(ep, &ev, 1, 0)) \
	X(__poll_chk, 0, __poll_chk(&polled, 1, 0, sizeof(polled))) \
	X(__ppoll_chk, 0, __ppoll_chk(&polled, 1, &no_time, NULL, sizeof(polled))) \
	X(poll, 0, poll(&polled, 1, 0)) \
	X(ppoll, 0, ppoll(&polled, 1, &no_time, NULL)) \
	X(pselect, 0, pselect(1, &set, NULL, NULL, &no_time, NULL)) \
	X(select, 0, select(1, &set, NULL, NULL, &at_once)) \
	X(clock_nanosleep, 0, clock_nanosleep(CLOCK_MONOTONIC, 0, &no_time, NULL)) \
	X(flock, 0, flock(file, LOCK_SH)) \
	X(getaddrinfo, 1, getaddrinfo("127.0.0.1", NULL, &numeric, &names)) \
	X(nanosleep, 0, nanosleep(&no_time, NULL)) \
	X(pthread_cond_clockwait, 0, LOCKED(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &no_time))) \
	X(pthread_cond_timedwait, 0, LOCKED(pthread_cond_timedwait(&cond, &mutex, &no_time))) \
	X(pthread_create, 1, pthread_create(&thread, NULL, ends_at_once, NULL)) \
	X(pthread_join, 0, pthread_join(pthread_self(), NULL)) \
	X(sem_clockwait, 0, sem_clockwait(&none, CLOCK_MONOTONIC, &no_time)) \
	X(sem_timedwait, 0, sem_timedwait(&none, &no_time)) \
	X(sem_wait, 0, (sem_post(&some), sem_wait(&some))) \
	X(sleep, 0, sleep(0)) \
	X(usleep, 0, usleep(0)) \
	X(wait, 0, wait(&status)) \
	X(wait4, 0, wait4(-1, &status, WNOHANG, NULL)) \
	X(waitid, 0, waitid(P_ALL, 0, NULL, WEXITED | WNOHANG)) \
	X(waitpid, 0, waitpid(-1, &status, WNOHANG)) \
	X(pthread_mutex_clocklock, 0, LOCKED(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &no_time))) \
	X(pthread_mutex_lock, 0, LOCKED(0)) \
	X(pthread_mutex_timedlock, 0, LOCKED(pthread_mutex_timedlock(&mutex, &no_time))) \
	X(pthread_mutex_trylock, 0, LOCKED(pthread_mutex_trylock(&mutex))) \
	X(pthread_mutex_unlock, 0, LOCKED(0)) \
	X(pthread_rwlock_rdlock, 0, (pthread_rwlock_rdlock(&rwlock), pthread_rwlock_unlock(&rwlock))) \
	X(pthread_rwlock_trywrlock, 0, (pthread_rwlock_trywrlock(&rwlock), pthread_rwlock_unlock(&rwlock))) \
	X(pthread_rwlock_unlock, 0, (pthread_rwlock_rdlock(&rwlock), pthread_rwlock_unlock(&rwlock))) \
	X(pthread_rwlock_wrlock, 0, (pthread_rwlock_wrlock(&rwlock), pthread_rwlock_unlock(&rwlock))) \
	X(sigaction, 0, sigaction(SIGHUP, &ignores, NULL)) \
	X(signal, 0, signal(SIGTERM, on_term)) \
	X(__sysv_signal, 0, __sysv_signal(SIGSEGV, SIG_DFL)) \
	X(bsd_signal, 0, bsd_signal(SIGSEGV, SIG_DFL)) \
	X(ssignal, 0, ssignal(SIGSEGV, SIG_DFL)) \
	X(sysv_signal, 0, sysv_signal(SIGSEGV, SIG_DFL)) \
	X(sigtimedwait, 0, sigtimedwait(&usr2, NULL, &no_time)) \
	X(sigwait, 0, sigwait(&usr2, &sig)) \
	X(sigwaitinfo, 0, sigwaitinfo(&usr2, NULL)) \
	X(fork, 1, child(fork())) \
	X(vfork, 1, child(vfork())) \
	X(prctl, 0, prctl(PR_GET_DUMPABLE)) \
	X(syscall, 0, (int)syscall(SYS_getppid)) \
	X(execl, 0, execl("/no/such", "x", (char *)NULL)) \
	X(execle, 0, execle("/no/such", "x", (char *)NULL, environ)) \
	X(execlp, 0, execlp("/no/such", "x", (char *)NULL)) \
	X(execv, 0, execv("/no/such", words)) \
	X(execve, 0, execve("/no/such", words, environ)) \
	X(execveat, 0, execveat(AT_FDCWD, "/no/such", words, environ, 0)) \
	X(execvp, 0, execvp("/no/such", words)) \
	X(execvpe, 0, execvpe("/no/such", words, environ)) \
	X(fexecve, 0, fexecve(fds[0], words, environ)) \
	X(posix_spawn, 1, posix_spawn(&spawned, "/no/such", NULL, NULL, words, environ)) \
	X(posix_spawnp, 1, posix_spawnp(&spawned, "/no/such", NULL, NULL, words, environ))

#define CALL(name, large, expr) static __attribute__((noinline)) void do_##name(void) { (void)!(expr); }
CALLS(CALL)
// A descriptor on which a coroutine waits: more has to be noted when it goes.
CALL(close_waited, 0, close(spare))

static const struct call {
	const char *name;
	int large;
	void (*call)(void);
} calls[] = {
#define ROW(name, large, expr) {#name, large, do_##name},
	CALLS(ROW)
	ROW(close_waited, 0, 0)
};
enum { COUNT = sizeof(calls) / sizeof(*calls) };
static const struct call *now;

static void exits(void)
{
	static const struct {
		const char *name;
		void (*call)(int) __attribute__((noreturn));
	} ends[] = {{"exit", exit}, {"_exit", _exit}, {"_Exit", _Exit}, {"quick_exit", quick_exit}};
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (!strcmp(now->name, ends[i].name))
			ends[i].call(0);
}

static void echo(void)
{
	for (;;)
		swapcontext(&echo_uc, &me);
}

static void waits(void)
{
	struct epoll_event in = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = &other};
	(void)!read(spare, &byte, 1);
	epoll_ctl(ep, EPOLL_CTL_ADD, spare, &in);
	swapcontext(&other, &here);
}

static void make(ucontext_t *u, void *stack, size_t bytes, void (*fn)(void))
{
	getcontext(u);
	u->uc_stack.ss_sp = stack;
	u->uc_stack.ss_size = bytes;
	u->uc_link = &here;
	makecontext(u, fn, 0);
}

// What the next call will use up, made on main's own stack.
static void prepare(const char *name)
{
	while (waitpid(-1, &status, WNOHANG) > 0)
		;
	spare = dup(fds[0]);
	fresh = socket(AF_UNIX, SOCK_STREAM, 0);
	memory = must_map(4096);
	chunk = aligned_alloc(64, 4096);
	snprintf(path, sizeof(path), "/tmp/t-stack.XXXXXX");
	msg = (struct msghdr){.msg_iov = &vec, .msg_iovlen = 1};
	mmsg.msg_hdr = msg;
	if (!strcmp(name, "dlclose"))
		module = dlopen("libm.so.6", RTLD_NOW);
	if (!strcmp(name, "makecontext"))
		make(&other, other_stack, sizeof(other_stack), nothing);
	if (!strcmp(name, "close_waited")) {
		make(&other, other_stack, sizeof(other_stack), waits);
		swapcontext(&here, &other);
	}
	if (!strncmp(name, "sig", 3) && strchr(name, 'w'))
		raise(SIGUSR2);
	if (!strncmp(name, "recv", 4) || strstr(name, "read"))
		must(write(fds[1], "x", 1));
#ifdef HAVE_FCONTEXT
	if (!strcmp(name, "jump_fcontext"))
		boosted = make_fcontext(OTHER_TOP, sizeof(other_stack), boosted_body);
#endif
}

static void tidy(void)
{
	close(spare);
	close(fresh);
	if (!strncmp(now->name, "mk", 2))
		unlink(path);
	while (waitpid(-1, &status, strstr(now->name, "fork") ? 0 : WNOHANG) > 0)
		;
}

static __attribute__((noinline)) void paint(void)
{
	char *end = (char *)__builtin_frame_address(0) - 64;
	for (volatile char *p = low; p < end; p++)
		*p = PAINT;
}

static long deepest(void)
{
	char *p = low;
	while (p < from && *p == PAINT)
		p++;
	return from - p;
}

// On the coroutine's stack, over and over: paint, call, and back to main.
static void measure(void)
{
	from = (char *)__builtin_frame_address(0) - 64;
	for (;;) {
		paint();
		if (now->call)
			now->call();
		else
			exits();
		swapcontext(&there, &here);
	}
}

static long run(const struct call *c)
{
	now = c;
	prepare(c->name);
	must(swapcontext(&here, &there));
	long bytes = deepest();
	tidy();
	return bytes;
}

int main(int argc, char **argv)
{
	bool tiny = argc > 2 && !strcmp(argv[1], "tiny"), ends = argc > 3 && !strcmp(argv[1], "exit");
	size_t bytes = tiny ? (size_t)atol(argv[2]) : ends ? (size_t)atol(argv[3]) : BYTES;
	char *map = must_map(BYTES + 4096);
	must(mprotect(map, 4096, PROT_NONE));
	low = map + 4096;
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds));
	must(listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
	must(timer = timerfd_create(CLOCK_MONOTONIC, 0));
	must(counter = eventfd(0, 0));
	must(file = memfd_create("file", 0));
	must(ep = epoll_create1(0));
	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	sigprocmask(SIG_BLOCK, &usr2, NULL);
	alternate = (stack_t){.ss_sp = must_map(64 << 10), .ss_size = 64 << 10};
	make(&echo_uc, echo_stack, sizeof(echo_stack), echo);
	make(&there, low, bytes, measure);
	if (ends) {
		run(&(struct call){argv[2], 0, NULL});
		return 3;
	}
	long first[COUNT];
	for (int i = 0; i < COUNT; i++)
		first[i] = tiny && calls[i].large ? 0 : run(&calls[i]);
	for (int i = 0; i < COUNT; i++) {
		long later = tiny && calls[i].large ? 0 : run(&calls[i]);
		if (!tiny)
			printf("%s %ld %ld\n", calls[i].name, first[i], later);
	}
	puts("done");
	return 0;
}
