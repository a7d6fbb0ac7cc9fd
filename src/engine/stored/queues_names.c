// SPDX-License-Identifier: MIT
//
// What the program has named, the kernel tells it again: threads, mappings without a file, memory files.
#include "engine/stored/queues.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/living.h"

static void threads(const struct queues *q)
{
	char name[64], where[64], *text;
	for (size_t i = 0; i < q->l->tasks.n; i++) {
		snprintf(name, sizeof(name), "task/%d/comm", q->l->tasks.v[i].tid);
		snprintf(where, sizeof(where), "the name of thread %d", q->l->tasks.v[i].tid);
		if (proc_slurp(q->l->pid, name, &text, NULL))
			continue; // it has ended
		q->text(q->ctx, where, text);
		free(text);
	}
}

static void mappings(const struct queues *q)
{
	for (size_t i = 0; i < q->l->maps.n; i++)
		if (!strncmp(q->l->maps.v[i].path, "[anon", 5))
			q->text(q->ctx, "the name of a mapping", q->l->maps.v[i].path);
}

static void files(const struct queues *q)
{
	char path[40], link[256], where[40];
	snprintf(path, sizeof(path), "/proc/%d/fd", living_of(q->l->pid));
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));)
		if (isdigit((unsigned char)*e->d_name) &&
		    proc_fd_link(q->l->pid, atoi(e->d_name), link, sizeof(link)) && *link == '/') {
			snprintf(where, sizeof(where), "the name of fd %d", atoi(e->d_name));
			q->text(q->ctx, where, link);
		}
	if (d)
		closedir(d);
}

void queues_names(const struct queues *q)
{
	threads(q);
	mappings(q);
	files(q);
}
