// SPDX-License-Identifier: MIT
//
// A line is one write, so lines of several writers on a terminal do not mix. Where to write is the
// only state of ctp-run that is not in a struct.
#include "engine/target/log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/outfile.h"

#define OURS "ctp-run: "

static int log_fd = STDERR_FILENO;
static int log_highest = LOG_SAY;

int log_open(const char *file, int highest)
{
	log_highest = highest;
	if (!file)
		return 0;
	int fd = outfile_open(file, O_CREAT | O_APPEND);
	if (fd < 0)
		return fd;
	log_fd = fd;
	return 0;
}

int log_descriptor(void)
{
	return log_fd;
}

bool log_hears(enum log_level level)
{
	return (int)level <= log_highest;
}

void log_line(enum log_level level, const char *fmt, ...)
{
	char line[2048] = OURS;
	enum { NAME = sizeof(OURS) - 1 };
	if (!log_hears(level))
		return;
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(line + NAME, sizeof(line) - NAME - 1, fmt, ap);
	va_end(ap);
	size_t len = NAME + (n < 0 ? 0 : (size_t)n);
	if (len > sizeof(line) - 2)
		len = sizeof(line) - 2;
	for (size_t i = NAME; i < len; i++) // a name with a newline must not make two lines
		if (line[i] == '\n')
			line[i] = ' ';
	line[len] = '\n';
	ssize_t done = write(log_fd, line, len + 1);
	(void)done; // nobody left to tell
}
