// SPDX-License-Identifier: MIT
//
// real.h - real_<name> for each row of hooks.def: the function behind our hook. Each starts at
// its own lazy resolver, so no hook tests for NULL: other libraries' constructors call hooks
// before ours has run.
#pragma once

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

// What no public header declares.
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
		      void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
ssize_t __read_chk(int fd, void *buf, size_t n, size_t buflen);
ssize_t __pread_chk(int fd, void *buf, size_t n, off_t off, size_t buflen);
ssize_t __pread64_chk(int fd, void *buf, size_t n, off64_t off, size_t buflen);
ssize_t __recv_chk(int fd, void *buf, size_t n, size_t buflen, int flags);
ssize_t __recvfrom_chk(int fd, void *buf, size_t n, size_t buflen, int flags, struct sockaddr *addr,
		       socklen_t *addrlen);
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t bytes);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
		size_t bytes);
void __longjmp_chk(struct __jmp_buf_tag *env, int value) __attribute__((noreturn));
unsigned __int128 make_fcontext(uint64_t sp, uint64_t bytes, uint64_t fn, uint64_t a3, uint64_t a4,
				uint64_t a5);
void jump_fcontext(void), ontop_fcontext(void); // by address only
__typeof__(make_fcontext) _ZN5boost7context6detail13make_fcontextEPvmPFvNS1_10transfer_tEE;
void _ZN5boost7context6detail13jump_fcontextEPvS2_(void);
void _ZN5boost7context6detail14ontop_fcontextEPvS2_PFNS1_10transfer_tES3_E(void);
void coro_transfer(void), coroutine_transfer(void), fiber_switchContext(void);
void qt_abort(void), qt_block(void), qt_blocki(void);
sighandler_t bsd_signal(int sig, sighandler_t handler);
void _Exit(int status) __attribute__((noreturn));
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);

#define HOOK(name) extern __attribute__((visibility("hidden"))) __typeof__(name) *real_##name;
#include "preload/guest/hooks.def"
#undef HOOK

// Looks every name up now, so that no hook does later.
void real_resolve_all(void);
// How many functions there are to hook: the rows whose real function is known by now.
uint32_t real_found(void);
// What real_<name>, at `slot`, is to the module that calls at `caller`: the same for
// all, unless it is a library's that only some have loaded.
void *real_for(void *slot, const void *caller);
// What real_<name> is to be where it is that function: set once some functions are patched. NULL: itself.
extern void *(*real_behind)(void *fn);
// Untraced for good: each of our names but those that STAY becomes a jump to the real one. Where that
// cannot be written, it stays as it is: right, but slower.
void real_bypass(void);
// This library was loaded late, by dlopen: real functions are those that the program sees. Before
// real_resolve_all.
void real_loaded_late(void);
// A row of hooks.def: our function of that name, where the real one is kept, and what is there until it is
// known.
struct real_hook {
	void *hook, *slot, *resolver;
};
bool real_hook_of(const char *name, struct real_hook *h);
// A library has come: looks up what was not found before.
void real_resolve_more(void);
// A library has gone: looks those names up again that may have gone with it.
void real_resolve_again(void);
// How often that was done: what was found before may be gone. Assembly code reads it.
extern uint64_t real_turn __attribute__((visibility("hidden")));
