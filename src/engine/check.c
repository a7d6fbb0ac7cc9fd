// SPDX-License-Identifier: MIT
//
// --check runs ctp-analyze, which is installed beside ctp-run: once for the report,
// and once more for the exit status if --fail-on asks about other verdicts. The
// output is kept in memory until it is known whether it is wanted.
#include "engine/check.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/beside.h"
#include "engine/target/log.h"
#include "engine/target/signals.h"

enum { ANALYZE_FOUND = 1, ANALYZE_FAILED = 2 };

// Its exit status, or -errno. Its report goes to `out`.
static int analyze(const char *tool, const char *color, const char *verdict, const char *trace, int out)
{
	char min[64];
	snprintf(min, sizeof(min), "--min-verdict=%s", verdict);
	char *const argv[] = {(char *)tool, (char *)color, min, (char *)"--", (char *)trace, NULL};
	int status;
	pid_t pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		signals_restore();
		dup2(out, STDOUT_FILENO);
		dup2(log_descriptor(), STDERR_FILENO);
		execv(tool, argv);
		_exit(ANALYZE_FAILED);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EIO;
}

static const char *color(const struct options *o)
{
	return color_wanted(o->color, log_descriptor()) ? "--color=always" : "--color=never";
}

static void show(int from)
{
	char bytes[4096];
	ssize_t n;
	lseek(from, 0, SEEK_SET);
	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		for (ssize_t at = 0, w; at < n; at += w)
			if ((w = write(log_descriptor(), bytes + at, (size_t)(n - at))) <= 0)
				return; // nobody left to tell
}

int check_trace(const struct options *o, const char *trace)
{
	static const char usual[] = "suspect";
	char tool[PATH_MAX + 32];
	int r = beside_find("ctp-analyze", "analyze", tool, sizeof(tool));
	int out = r ? -1 : memfd_create("report", MFD_CLOEXEC);
	if (r || out < 0)
		return r ? r : -errno;
	int status = analyze(tool, color(o), usual, trace, out);
	if (status >= 0 && status != ANALYZE_FAILED && (!o->quiet || status == ANALYZE_FOUND))
		show(out);
	if (status == ANALYZE_FOUND && o->error_exitcode && strcmp(o->fail_on, usual))
		status = analyze(tool, color(o), o->fail_on, trace, out);
	close(out);
	if (status < 0 || status == ANALYZE_FAILED)
		return status < 0 ? status : -EIO;
	return status == ANALYZE_FOUND ? o->error_exitcode : 0;
}
