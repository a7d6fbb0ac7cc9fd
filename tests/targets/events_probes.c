// SPDX-License-Identifier: MIT
//
// events_probes.c - a program that attaches probes to its own events (ctp/probe.h), as C or C++, prints what they
// saw, and nothing where it runs without ctp but that. An argument: a library with events, loaded meanwhile.
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctp/probe.h>

#include "events.h"

CTP_EVENT(job, step, (int, n), (const char *, what), (double, share), (ctp_bytes, data));
CTP_EVENT(job, done);
CTP_EVENT(job, sum, (int, n));

// The library's, and one of this file, by name and signature
CTP_EVENT_IMPORT(module, called, (int, times));
CTP_EVENT_IMPORT(http, request, (const char *, url), (int, code));
CTP_EVENT_IMPORT(job, step, (int, n), (const char *, what), (double, share), (ctp_bytes, data));
CTP_EVENT_IMPORT(job, done);
CTP_EVENT_IMPORT(job, sum, (long, n)); // it is an int


static int steps, requests, calls, dones;

static void on_step(const ctp_signal *s, void *data)
{
	ctp_bytes b = ctp_signal_bytes(s, 3);
	printf("%s %d %s %.2f %d\n", (const char *)data, (int)ctp_signal_int(s, 0), ctp_signal_text(s, 1),
	       ctp_signal_float(s, 2), (int)b.bytes);
	steps++;
}

static void on_step_typed(void *data, int n, const char *what, double share, ctp_bytes bytes)
{
	printf("typed %d %s %.2f %d\n", n, what, share, (int)bytes.bytes);
	++*(int *)data;
}

static void on_request(void *data, const char *url, int code)
{
	(void)data;
	printf("request %s %d\n", url, code);
	requests++;
}

static void on_called(void *data, int times)
{
	(void)times;
	++*(int *)data;
}

static void on_done(void *data)
{
	ctp_probe **itself = (ctp_probe **)data;
	dones++;
	printf("itself %ld\n", ctp_probe_detach(*itself));
	ctp_event(job, done); // nobody hears it
}

static void on_sum(void *data, long n)
{
	(void)data;
	printf("never %ld\n", n);
}

static void forks(const ctp_signal *s, void *data)
{
	pid_t child = fork();
	(void)s;
	(void)data;
	if (!child)
		_exit(7);
	int status = 0;
	waitpid(child, &status, 0);
	printf("forked %d\n", WEXITSTATUS(status));
}

static void module_twice(const char *path)
{
	void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*signal_it)(int);
	if (!h)
		return;
	*(void **)&signal_it = dlsym(h, "signal_it");
	ctp_probe *p = ctp_probe_import(NULL, module, called, on_called, &calls);
	signal_it(1);
	dlclose(h);
	h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	*(void **)&signal_it = dlsym(h, "signal_it");
	signal_it(2);
	printf("module %d, %ld\n", calls, ctp_probe_detach(p));
	signal_it(3);
	dlclose(h);
}

int main(int argc, char **argv)
{
	ctp_probe_group group;
	int typed = 0;
	memset(&group, 0, sizeof(group));
	errno = 0;
	ctp_probe *p = ctp_probe_attach(&group, "job", "step", on_step, (void *)"first");
	if (!p) {
		printf("no probe: %s, %ld, %ld\n", errno == ENOSYS ? "ENOSYS" : strerror(errno), ctp_probe_detach(NULL),
		       ctp_probe_group_done(&group));
		return errno != ENOSYS;
	}
	ctp_probe_attach(&group, "job", "step", on_step, (void *)"second");
	ctp_probe_import(&group, job, step, on_step_typed, &typed);
	ctp_event(job, step, -3, "go", 0.25, ctp_bytes_of("abc", 3));
	ctp_probe_detach(p);
	ctp_event(job, step, 4, "on", 0.5, ctp_bytes_of("abcd", 4));
	printf("group %ld\n", ctp_probe_group_done(&group));
	ctp_event(job, step, 5, "off", 0.5, ctp_bytes_of("abcd", 4));

	ctp_probe_import(&group, http, request, on_request, NULL);
	ctp_event(http, request, "/x", 200);
	ctp_probe_group_done(&group);
	ctp_event(http, request, "/y", 404);

	ctp_probe *itself = NULL;
	itself = ctp_probe_import(NULL, job, done, on_done, &itself);
	ctp_event(job, done);
	ctp_event(job, done);

	p = ctp_probe_attach(NULL, "job", "done", forks, NULL);
	ctp_event(job, done);
	ctp_probe_detach(p);
	ctp_event(job, done);

	errno = 0;
	p = ctp_probe_attach(NULL, "job", "missing", forks, NULL);
	printf("missing %d\n", !p && errno == ENOENT);
	p = ctp_probe_import(NULL, job, sum, on_sum, NULL);
	printf("mismatch %d\n", !p && errno == EPROTOTYPE);
	ctp_event(job, sum, 1);
	if (argc > 1)
		module_twice(argv[1]);
	printf("steps %d, typed %d, requests %d, dones %d\n", steps, typed, requests, dones);
	return 0;
}
