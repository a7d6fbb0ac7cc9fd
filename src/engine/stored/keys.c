// SPDX-License-Identifier: MIT
//
// Keys belong to a user and are linked into rings of a thread, a process, a session or the
// user. Keys that ctp-run may read, since it began in the same session, are searched. A key
// is a doubt if it was made since the program began, belongs to its user and cannot be read;
// or if it counts against the user's quota (the kernel's own do not) and is not listed. A
// key that is listed, is older than the program, and cannot be read by ctp-run cannot be
// read by the program either.
#include "engine/stored/keys.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/target/proc.h"

struct key {
	uint32_t serial;
	unsigned uid;
	char flags[16]; // Q: counts against the quota (proc_keys_show in the kernel's security/keys/proc.c)
	char type[16];
};

static bool parse(const char *line, struct key *k)
{
	return sscanf(line, "%x %15s %*s %*s %*s %u %*s %15[^ :]", &k->serial, k->flags, &k->uid, k->type) ==
	       4;
}

static unsigned user_of(pid_t pid)
{
	char *text;
	if (proc_slurp(pid, "status", &text, NULL))
		return 0;
	const char *at = strstr(text, "\nUid:");
	unsigned uid = 0;
	if (at)
		sscanf(at + 5, "%*u %*u %*u %u", &uid); // as whom it makes files, and keys
	free(text);
	return uid;
}

// How many keys of his own the user has, seen or not.
static long all_of(pid_t pid, unsigned uid)
{
	char *text, *save = NULL;
	long found = 0, n;
	unsigned user;
	if (proc_slurp(pid, "../key-users", &text, NULL))
		return 0;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (sscanf(line, "%u: %*d %*d/%*d %ld/", &user, &n) == 2 && user == uid)
			found = n;
	free(text);
	return found;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

void keys_init(struct keys *k, pid_t pid)
{
	char *text, *save = NULL;
	size_t lines = 0;
	*k = (struct keys){0};
	if (proc_slurp(pid, "../keys", &text, NULL))
		return;
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		lines++;
	k->serials = calloc(lines + 1, sizeof(*k->serials));
	for (char *line = strtok_r(text, "\n", &save); k->serials && line;
	     line = strtok_r(NULL, "\n", &save)) {
		struct key key;
		if (parse(line, &key))
			k->serials[k->n++] = key.serial;
	}
	if (k->n)
		qsort(k->serials, k->n, sizeof(*k->serials), by_number);
	free(text);
}

void keys_deinit(struct keys *k)
{
	free(k->serials);
	*k = (struct keys){0};
}

// Searches what is in it. False if we may not read it.
static bool contents(struct queues *q, const struct key *k)
{
	char where[40];
	long n = syscall(SYS_keyctl, KEYCTL_READ, k->serial, NULL, 0, 0);
	unsigned char *bytes = n >= 0 ? malloc((size_t)n + 1) : NULL;
	long got = bytes ? syscall(SYS_keyctl, KEYCTL_READ, k->serial, bytes, (size_t)n, 0) : -1;
	snprintf(where, sizeof(where), "the key %08x of the kernel's", k->serial);
	if (got >= 0 && got <= n)
		q->bytes(q->ctx, where, bytes, (size_t)got);
	free(bytes);
	return got >= 0 && got <= n;
}

bool keys_read(struct queues *q, const struct keys *before)
{
	char *text, *save = NULL;
	unsigned uid = user_of(q->l->pid);
	bool ok = true;
	long all = all_of(q->l->pid, uid), shown = 0;
	int e = proc_slurp(q->l->pid, "../keys", &text, NULL);
	if (e == -ENOENT)
		return true; // a kernel without
	for (char *line = e ? NULL : strtok_r(text, "\n", &save); ok && line;
	     line = strtok_r(NULL, "\n", &save)) {
		struct key k;
		if (!parse(line, &k) || k.uid != uid)
			continue;
		shown += strchr(k.flags, 'Q') != NULL;
		bool old = before->n &&
			   bsearch(&k.serial, before->serials, before->n, sizeof(k.serial), by_number);
		ok = !strcmp(k.type, "keyring") || contents(q, &k) || old;
		if (!ok)
			snprintf(q->why, sizeof(q->why), "the key %08x, made since it began, cannot be read",
				 k.serial);
	}
	if (!e)
		free(text);
	if (ok && (e || all != shown || all != all_of(q->l->pid, uid))) {
		snprintf(q->why, sizeof(q->why), "its keys cannot be seen");
		ok = false;
	}
	return ok;
}
