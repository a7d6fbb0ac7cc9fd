// SPDX-License-Identifier: MIT
//
// The program must not notice that it has an engine: the engine holds none of its
// descriptors, is in a session of its own, and is no child that the program's wait calls see.
// The program waits for engine_pid at its start, which is written when all is ready, and for
// final_done at its end, which is written when the trace is complete up to there. The trace is
// written once more when the process has ended.
#include "engine/run/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ctp/seq.h"
#include "engine/target/log.h"
#include "engine/control/control.h"
#include "engine/run/run.h"
#include "engine/target/signals.h"

static void close_all_but(int fd)
{
	int null = open("/dev/null", O_RDWR);
	for (int i = 0; null >= 0 && i < 3; i++)
		if (i != fd)
			dup2(null, i);
	bool closed = fd <= 3 || !syscall(SYS_close_range, 3, fd - 1, 0);
	closed &= !syscall(SYS_close_range, fd < 3 ? 3 : fd + 1, ~0U, 0);
	for (int i = 3; !closed && i < sysconf(_SC_OPEN_MAX); i++) // before Linux 5.9, or seccomp
		if (i != fd)
			close(i);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
}

char **serve_command(int pid, char **room)
{
	char name[64];
	size_t n = 0, bytes = 0;
	snprintf(name, sizeof(name), "/proc/%d/cmdline", pid);
	FILE *f = fopen(name, "re");
	*room = NULL;
	if (!f || getdelim(room, &bytes, EOF, f) < 0)
		*room = NULL;
	size_t used = *room && f ? (size_t)ftell(f) : 0;
	if (f)
		fclose(f);
	for (size_t i = 0; i < used; i++)
		n += !(*room)[i];
	char **argv = calloc(n + 2, sizeof(*argv));
	size_t at = 0;
	for (size_t i = 0; argv && i < n; i++) {
		argv[i] = *room + at;
		at += strlen(*room + at) + 1;
	}
	return argv;
}

int serve(const struct options *o)
{
	struct session s;
	char *room = NULL;
	const char *output = getenv("CTP_OUTPUT");
	close_all_but(o->serve_fd);
	setsid();
	signals_init();
	log_open(NULL, LOG_NEVER);
	if (session_region_adopt(&s, o, o->serve_fd) < 0)
		return 125;
	char **argv = serve_command(o->serve_pid, &room);
	int r = session_open(&s, output && *output ? output : o->output, o->serve_pid, argv, NULL);
	if (!r) {
		if (chdir("/") < 0)
			r = -errno;
		control_open(&s);
		ctp_store32(&s.first.region.ext->engine_pid, (uint32_t)getpid());
		session_started(&s);
		run_served(&s);
	} else {
		ctp_store32(&s.first.region.ext->engine_pid, UINT32_MAX); // it need not wait
	}
	control_close(&s);
	session_deinit(&s);
	free(argv);
	free(room);
	return r ? 125 : 0;
}
