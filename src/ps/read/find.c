// SPDX-License-Identifier: MIT
//
// A process is traced if it maps a region whose header has that process's id. This
// distinguishes it from ctp-run, which maps the same file, and from a vfork child; it does not
// depend on ctp-run, which may be gone. Regions are recognized by the name of their memfd, or
// by the file that the process's environment names. The id in the header is that of the
// process's own PID namespace.
#include "ps/read/find.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/living.h"
#include "base/maps.h"
#include "base/proc_status.h"
#include "base/text.h"
#include "core/corefile.h"
#include "ctp/region.h"
#include "ps/read/probes.h"

enum { HELD_MAX = 32 };

// One region that a process maps.
struct held {
	uint64_t lo, bytes, ino;
	uint32_t major, minor;
};

struct holder {
	pid_t pid;
	char file[4096]; // of a region that is no memfd; "" = none
	struct held v[HELD_MAX];
	size_t n;
};

static int note(void *arg, const struct maps_line *m)
{
	struct holder *h = arg;
	struct held *last = h->n ? &h->v[h->n - 1] : NULL;
	if (strcmp(m->path, "/memfd:ctp (deleted)") && (!*h->file || strcmp(m->path, h->file)))
		return 0;
	if (last && last->ino == m->ino && m->lo == last->lo + last->bytes && m->offset == last->bytes)
		last->bytes += m->hi - m->lo;
	else if (!m->offset && h->n < HELD_MAX)
		h->v[h->n++] = (struct held){m->lo, m->hi - m->lo, m->ino, m->major, m->minor};
	return 0;
}

static void read_file_name(struct holder *h)
{
	static const char key[] = "CTP_SHM_PATH=";
	char path[40], *word = NULL;
	size_t room = 0;
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)living_of(h->pid));
	FILE *f = fopen(path, "re");
	while (f && getdelim(&word, &room, 0, f) > 0)
		if (!strncmp(word, key, sizeof(key) - 1) && strncmp(word + sizeof(key) - 1, "/proc/", 6))
			snprintf(h->file, sizeof(h->file), "%s", word + sizeof(key) - 1);
	free(word);
	if (f)
		fclose(f);
}

static int holder_read(struct holder *h, pid_t pid)
{
	*h = (struct holder){.pid = pid};
	read_file_name(h);
	return maps_each(pid, note, h);
}

static bool is_region(int fd, const struct held *r)
{
	struct stat st;
	return fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_ino == r->ino &&
	       (uint64_t)st.st_size >= r->bytes;
}

// The region's file among the descriptors of `pid`, or -1.
static int open_among(pid_t pid, const struct held *r)
{
	char path[320];
	struct stat st;
	int fd = -1, tid = (int)living_of(pid);
	snprintf(path, sizeof(path), "/proc/%d/fd", tid);
	DIR *d = opendir(path);
	for (struct dirent *e; fd < 0 && d && (e = readdir(d));) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%s", tid, e->d_name);
		if (!isdigit((unsigned char)*e->d_name) || stat(path, &st) || st.st_ino != r->ino ||
		    !S_ISREG(st.st_mode))
			continue; // opening what is no file can have effects
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd >= 0 && !is_region(fd, r)) {
			close(fd);
			fd = -1;
		}
	}
	if (d)
		closedir(d);
	return fd;
}

// Calls `each` for the processes of this user until it says other than 0.
static int processes(int (*each)(void *arg, pid_t pid), void *arg)
{
	uid_t me = geteuid();
	struct stat st;
	int r = 0;
	DIR *d = opendir("/proc");
	if (!d)
		return -errno;
	for (struct dirent *e; !r && (e = readdir(d));)
		if (isdigit((unsigned char)*e->d_name) && !fstatat(dirfd(d), e->d_name, &st, 0) &&
		    (me == 0 || st.st_uid == me))
			r = each(arg, (pid_t)atoi(e->d_name));
	closedir(d);
	return r;
}

struct search { // for processes that hold this region
	const struct held *region;
	pid_t not ;  // this one
	uint32_t id; // of the one looked for
	int fd;
	struct found found;
	size_t n;
};

// The mapping of the same region in process `pid`, whose holder is filled in, or NULL.
static const struct held *holding(struct holder *h, pid_t pid, const struct held *r)
{
	if (holder_read(h, pid))
		return NULL;
	for (size_t i = 0; i < h->n; i++)
		if (h->v[i].ino == r->ino && h->v[i].major == r->major && h->v[i].minor == r->minor)
			return &h->v[i];
	return NULL;
}

static int open_of_holder(void *arg, pid_t pid)
{
	struct search *s = arg;
	struct holder h;
	if (!holding(&h, pid, s->region))
		return 0;
	s->fd = open_among(pid, s->region);
	return s->fd >= 0;
}

// Makes the region readable: through the process, else through its file, which ctp-run has open.
static int open_region(struct source *s, pid_t pid, const struct held *r, struct ctp_header *h)
{
	*s = (struct source){.pid = pid, .base = r->lo, .bytes = r->bytes, .fd = -1};
	int e = source_read(s, 0, h, sizeof(*h));
	if (e != -EPERM)
		return e;
	struct search holder = {.region = r, .fd = -1};
	processes(open_of_holder, &holder);
	s->fd = holder.fd;
	return s->fd >= 0 ? source_read(s, 0, h, sizeof(*h)) : e;
}

static int is_engine(void *arg, pid_t pid)
{
	struct search *s = arg;
	struct holder h;
	return pid != s->not &&(uint32_t)proc_status_number(pid, "NSpid:", true) == s->id &&
			       holding(&h, pid, s->region) ?
		       (int)pid :
		       0;
}

// The ctp-run of process `pid`, or 0. Its id, too, is that of its own namespace.
static pid_t engine_of(pid_t pid, const struct held *r, uint32_t id)
{
	struct search s = {.region = r, .not = pid, .id = id};
	int found;
	if (proc_status_number(pid, "NSpid:", false) == proc_status_number(pid, "NSpid:", true))
		found = (int)id > 0 ? is_engine(&s, (pid_t)id) : 0;
	else
		found = processes(is_engine, &s);
	return found > 0 ? (pid_t)found : 0;
}

// Is it this process that the region describes? 0, enum find_why or -errno.
static int try_region(pid_t pid, const struct held *r, struct found *out)
{
	struct ctp_region layout;
	struct found f = {.pid = pid};
	int e = open_region(&f.region, pid, r, &f.header);
	if (e)
		return e;
	const struct ctp_ext *x = &f.header.ext;
	uint32_t engine = x->engine_pid;
	if (!f.header.magic) { // its pages were given back when ctp-run detached
		find_release(&f);
		return FIND_NOT_TRACED;
	}
	f.probes = probes_alone(&f.header, r->bytes);
	int open = f.probes ? 0 : ctp_region_read(&layout, &f.header, r->bytes);
	if (f.probes)
		e = f.header.allocated_count ? 0 : FIND_NOT_YET;
	else if (open)
		e = open == -EPROTONOSUPPORT ? FIND_OTHER_VERSION : FIND_DAMAGED;
	else if (!x->guest_pid)
		e = FIND_NOT_YET;
	else if ((long)x->guest_pid != proc_status_number(pid, "NSpid:", true))
		e = FIND_NOT_TRACED;
	if (e) {
		find_release(&f);
		return e;
	}
	f.engine = engine_of(pid, r, engine);
	if (f.engine && f.region.fd < 0)
		f.region.file = open_among(f.engine, r) + 1;
	*out = f;
	return 0;
}

// Of several reasons the one that says most.
static int better(int a, int b)
{
	if (!a || a == FIND_NOT_TRACED)
		return b;
	return b == FIND_NOT_TRACED ? a : a < b ? a : b;
}

static int guest(const struct holder *h, struct found *out)
{
	int why = FIND_NOT_TRACED;
	for (size_t i = 0; i < h->n; i++) {
		int e = try_region(h->pid, &h->v[i], out);
		if (!e)
			return 0;
		why = better(why, e);
	}
	return why;
}

static int guest_of_same(void *arg, pid_t pid)
{
	struct search *s = arg;
	struct holder h;
	struct found f;
	const struct held *r = pid == s->not ? NULL : holding(&h, pid, s->region);
	if (!r || try_region(pid, r, &f))
		return 0;
	if (s->n++)
		find_release(&f);
	else
		s->found = f;
	return 0;
}

// `h` maps regions that are not its own: whose are they?
static int guest_of(const struct holder *h, struct found *out)
{
	struct found first;
	size_t n = 0;
	for (size_t i = 0; i < h->n; i++) {
		struct search s = {.region = &h->v[i], .not = h->pid};
		processes(guest_of_same, &s);
		if (s.n && n)
			find_release(&s.found);
		else if (s.n)
			first = s.found;
		n += s.n;
	}
	if (n == 1)
		*out = first;
	else if (n)
		find_release(&first);
	return n == 1 ? 0 : n ? FIND_MANY : FIND_NOT_TRACED;
}

pid_t find_whole(pid_t pid)
{
	long whole = proc_status_number(pid, "Tgid:", false);
	return whole > 0 ? (pid_t)whole : pid;
}

int find_process(pid_t pid, struct found *out)
{
	struct holder h;
	pid = find_whole(pid);
	int e = holder_read(&h, pid);
	if (e == -ENOENT || e == -ESRCH)
		return FIND_NO_PROCESS;
	if (e)
		return e;
	e = guest(&h, out);
	if (e && h.n && e != FIND_OTHER_VERSION && e != FIND_DAMAGED && e != -EPERM) {
		int other = guest_of(&h, out);
		return other == FIND_NOT_TRACED ? e : other;
	}
	return e;
}

struct all {
	struct found *v;
	size_t n, capacity;
};

static int add(void *arg, pid_t pid)
{
	struct all *a = arg;
	struct holder h;
	struct found f;
	if (holder_read(&h, pid) || !h.n || guest(&h, &f))
		return 0;
	if (GROW(a->v, a->n, a->capacity)) {
		find_release(&f);
		return -ENOMEM;
	}
	a->v[a->n++] = f;
	return 0;
}

int find_all(struct found **out, size_t *n)
{
	struct all a = {0};
	int e = processes(add, &a);
	if (e) {
		for (size_t i = 0; i < a.n; i++)
			find_release(&a.v[i]);
		free(a.v);
		return e;
	}
	*out = a.v;
	*n = a.n;
	return 0;
}

void find_release(struct found *f)
{
	if (f && f->region.fd >= 0)
		close(f->region.fd);
	if (f && f->region.file)
		close(f->region.file - 1);
	if (f && f->core) {
		corefile_close(f->core);
		free(f->core);
	}
}

int find_core(const char *path, struct found *out, const char **why)
{
	struct ctp_region layout;
	struct corefile *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	struct found f = {.core = c, .core_path = path, .region = {.core = c, .fd = -1}};
	int e = corefile_open(c, path);
	if (!e)
		e = corefile_find_region(c);
	if (!e && !ctp_version_read(c->version))
		e = FIND_OTHER_VERSION;
	if (!e)
		e = corefile_check_region(c);
	f.region.base = c->base;
	f.region.bytes = c->bytes;
	if (!e)
		e = source_read(&f.region, 0, &f.header, sizeof(f.header));
	if (!e && ctp_region_read(&layout, &f.header, c->bytes))
		e = FIND_DAMAGED;
	f.pid = (pid_t)(c->pid ? c->pid : f.header.ext.guest_pid);
	if (e) {
		*why = c->why;
		find_release(&f);
	} else {
		*out = f;
	}
	return e;
}

void find_command_of(const struct found *f, char *buf, size_t bytes)
{
	if (!f->core) {
		find_command(f->pid, buf, bytes);
		return;
	}
	char whole[sizeof(f->core->command) + 4];
	bool cut = strlen(f->core->command) + 1 >= ELF_PRARGSZ; // by the kernel
	snprintf(whole, sizeof(whole), "%s%s", f->core->command, cut ? "…" : "");
	find_clean(whole);
	text_fit(buf, bytes, whole, bytes);
}

int find_file(const struct found *f)
{
	struct holder h;
	struct search s = {.fd = -1};
	if (holder_read(&h, f->pid))
		return -1;
	for (size_t i = 0; i < h.n && !s.region; i++)
		s.region = h.v[i].lo == f->region.base ? &h.v[i] : NULL;
	if (s.region && f->engine > 0)
		open_of_holder(&s, f->engine);
	return s.fd;
}

void find_clean(char *text)
{
	text_clean(text);
}

void find_command(pid_t pid, char *buf, size_t bytes)
{
	char path[40], whole[FIND_COMMAND + 8];
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)living_of(pid));
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(whole, 1, sizeof(whole) - 1, f) : 0;
	if (f)
		fclose(f);
	while (n && !whole[n - 1])
		n--;
	whole[n] = 0;
	for (size_t i = 0; i < n; i++)
		if (!whole[i])
			whole[i] = ' ';
	find_clean(whole);
	text_fit(buf, bytes, whole, bytes);
}
