// SPDX-License-Identifier: MIT
//
// An object file names others: its separate debug file, that one's supplement, split
// DWARF. libdw opens these with open(), not all of them through a callback, so a FIFO of
// such a name would block the reader for ever. This program's `open` replaces libc's for
// libraries too; while the gate is closed it opens regular files only.
#include "symbols/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"

static _Thread_local unsigned closed;

void gate_close(void)
{
	closed++;
}

void gate_open(void)
{
	closed--;
}

static int open_any(const char *path, int flags, unsigned mode)
{
	if (!closed)
		return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
	int fd = (flags & O_ACCMODE) == O_RDONLY ? file_open(AT_FDCWD, path, 0) : -EACCES;
	if (fd < 0)
		errno = -fd;
	return fd < 0 ? -1 : fd;
}

// The two names that libraries know it by. They are given here, as the compiler's `open` may stand for
// either.
int gate_open_file(const char *path, int flags, ...) __asm__("open");
int gate_open_file64(const char *path, int flags, ...) __asm__("open64");

static int open_with(const char *path, int flags, va_list ap)
{
	bool makes = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
	return open_any(path, flags, makes ? va_arg(ap, unsigned) : 0);
}

int gate_open_file(const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	int fd = open_with(path, flags, ap);
	va_end(ap);
	return fd;
}

int gate_open_file64(const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	int fd = open_with(path, flags, ap);
	va_end(ap);
	return fd;
}
