// SPDX-License-Identifier: MIT
//
// What ctp-ps says on stderr: one line that names what failed, why, and what to do instead.
#include "ps/errors.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ps/read/denied.h"
#include "ps/read/find.h"

int errors_nothing(const struct settings *o)
{
	return o->lost ? EXIT_USAGE : EXIT_NOTHING;
}

int errors_flush(int e)
{
	if (!e && (ferror(stdout) || fflush(stdout)))
		e = errno ? -errno : -EIO;
	if (e)
		fprintf(stderr, "ctp-ps: cannot write the list: %s\n", strerror(-e));
	return e ? EXIT_USAGE : 0;
}

int errors_say(const struct settings *o, pid_t pid, int why)
{
	int id = (int)pid;
	char reason[256];
	switch (why) {
	case FIND_NO_PROCESS:
	case -ESRCH:
		fprintf(stderr,
			"ctp-ps: %d: there is no such process (any more); ctp-ps alone lists the traced ones\n",
			id);
		return errors_nothing(o);
	case FIND_NOT_TRACED:
		fprintf(stderr, "ctp-ps: %d is no longer traced; ctp-ps --watch %d searches it\n", id, id);
		return errors_nothing(o);
	case FIND_NOT_YET:
		fprintf(stderr,
			"ctp-ps: %d: libctp.so has not attached in that program: it is just starting, or cannot be "
			"traced; try again\n",
			id);
		return errors_nothing(o);
	case FIND_OTHER_VERSION:
		fprintf(stderr,
			"ctp-ps: %d: its region was made by another version of ctp: look at it with the ctp-ps "
			"beside its ctp-run\n",
			id);
		return EXIT_USAGE;
	case FIND_DAMAGED:
	case -EPROTO:
	case -EFAULT:
	case -EIO:
		fprintf(stderr,
			"ctp-ps: %d: its tables are damaged, or changed while they were read; try again\n",
			id);
		return EXIT_USAGE;
	case FIND_MANY:
		fprintf(stderr,
			"ctp-ps: %d traces several processes; name one of them: ctp-ps alone lists them\n",
			id);
		return EXIT_USAGE;
	case -EACCES:
	case -EPERM:
		fprintf(stderr, "ctp-ps: %d may not be looked at: %s\n", id,
			denied_why(pid, reason, sizeof(reason)));
		return EXIT_USAGE;
	default:
		fprintf(stderr, "ctp-ps: %d cannot be read: %s; try again\n", id, strerror(-why));
		return EXIT_USAGE;
	}
}

int errors_say_core(const char *path, int e, const char *why)
{
	if (e == FIND_OTHER_VERSION)
		fprintf(stderr,
			"ctp-ps: %s: its tables were made by another version of ctp; read it with that one's ctp-ps\n",
			path);
	else if (e == FIND_DAMAGED || (e == -EPROTO && !why))
		fprintf(stderr,
			"ctp-ps: %s: a core in which ctp's tables are damaged; ctp-analyze reads the trace beside it\n",
			path);
	else if (e == -EPROTO)
		fprintf(stderr, "ctp-ps: %s: %s%s\n", path, why,
			strchr(why, ';') ? "" : "; ctp-ps PID shows a running program");
	else
		fprintf(stderr, "ctp-ps: %s cannot be read: %s; give a core file that can, or a PID\n", path,
			strerror(-e));
	return EXIT_USAGE;
}

int errors_say_missing(const struct settings *o, const struct report *r)
{
	uint64_t id = r->missing;
	if (!id)
		return 0;
	bool ended = id <= r->found->header.ext.next_id;
	fprintf(stderr, "ctp-ps: coroutine %" PRIu64 " %s; leave out the id to list those that are there\n",
		id, ended ? "has ended, or is a thread's own stack" : "was never made");
	return errors_nothing(o);
}
