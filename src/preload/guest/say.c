// SPDX-License-Identifier: MIT
//
// Lines to the program's stderr: why a program runs untraced, and, with CTP_DEBUG
// in the environment, what the library does. Each is one write. A program may close
// descriptor 2 and open something else there, a connection say: a line of CTP_DEBUG is
// written only where the file is still the one of the start (device and inode).
#include "preload/guest/say.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "cpu.h"
#include "preload/guest/exit.h"

enum { FD = 2, LINE_BYTES = 256 };

bool say_on;
static struct {
	dev_t dev;
	ino_t ino;
} stderr_was;

struct line {
	char text[LINE_BYTES];
	size_t n;
};

static void put(struct line *l, const char *s)
{
	for (; *s && l->n < LINE_BYTES - 1; s++)
		l->text[l->n++] = *s == '\n' ? ' ' : *s; // a path may have one
}

static void put_number(struct line *l, uint32_t n)
{
	char digits[11] = "", *p = digits + sizeof(digits) - 1;
	do
		*--p = (char)('0' + n % 10);
	while (n /= 10);
	put(l, p);
}

static bool same_file(void)
{
	struct stat st;
	return cpu_syscall(SYS_fstat, FD, (long)&st, 0, 0, 0, 0) == 0 && st.st_dev == stderr_was.dev &&
	       st.st_ino == stderr_was.ino;
}

// Whether a line can be written at once. To a pipe that nobody reads it cannot.
static bool has_room(void)
{
	struct pollfd p = {.fd = FD, .events = POLLOUT};
	struct timespec now = {0, 0};
	return cpu_syscall(SYS_ppoll, (long)&p, 1, (long)&now, 0, 0, 0) == 1 && p.revents == POLLOUT;
}

// A reader may have gone just now: SIGPIPE is taken back before it is delivered.
static void write_line(const struct line *l)
{
	uint64_t pipe = 1ULL << (SIGPIPE - 1), before = 0, pending = 0;
	struct timespec now = {0, 0};
	cpu_syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)&pipe, (long)&before, sizeof(pipe), 0, 0);
	cpu_syscall(SYS_rt_sigpending, (long)&pending, sizeof(pending), 0, 0, 0, 0);
	long r = cpu_syscall(SYS_write, FD, (long)l->text, (long)l->n, 0, 0, 0);
	if (r == -EPIPE && !(pending & pipe))
		cpu_syscall(SYS_rt_sigtimedwait, (long)&pipe, 0, (long)&now, sizeof(pipe), 0, 0);
	cpu_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof(before), 0, 0);
}

void say_init(void)
{
	const char *wanted = getauxval(AT_SECURE) ? NULL : getenv("CTP_DEBUG");
	struct stat st;
	if (!wanted || !*wanted || !strcmp(wanted, "0") || cpu_syscall(SYS_fstat, FD, (long)&st, 0, 0, 0, 0))
		return;
	stderr_was.dev = st.st_dev;
	stderr_was.ino = st.st_ino;
	say_on = true;
}

void say_line(const char *format, ...)
{
	struct line l = {.n = 0};
	va_list ap;
	if (exit_silent() || !same_file() || !has_room())
		return;
	put(&l, "ctp: ");
	va_start(ap, format);
	for (const char *p = format; *p; p++) {
		char one[2] = {*p, 0};
		if (*p != '%')
			put(&l, one);
		else if (*++p == 's')
			put(&l, va_arg(ap, const char *));
		else
			put_number(&l, va_arg(ap, uint32_t));
	}
	va_end(ap);
	l.text[l.n++] = '\n';
	write_line(&l);
}

void say_untraced(const char *what, const char *why)
{
	const char *parts[] = {"ctp: ", what, why ? ": " : "", why ? why : "",
			       "; the program runs untraced\n"};
	char line[512];
	size_t n = 0;
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		for (const char *p = parts[i]; *p && n < sizeof(line); p++)
			line[n++] = *p;
	cpu_syscall(SYS_write, FD, (long)line, (long)n, 0, 0, 0);
}
