// SPDX-License-Identifier: MIT
//
// Reads a process's mappings soon after its start, then ever more rarely, and once more
// at its end, so that its modules are known even if it is killed. A file is opened when
// it is discovered, since both the file and the process may be gone later. It is read at
// a later turn, one file a turn, since the rings must not wait. Each file counts once, by
// device and inode. A file that is no longer the mapped one counts as not read.
#include "engine/coverage/module_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/living.h"
#include "base/maps.h"
#include "ctp/seq.h"

#define STEP_LEAST_NS 5000000
#define OBJECTS_MOST 2048
#define NAMED_MOST 3 // objects in one sentence

// Opens a regular file, and no device, whose opening may do something.
static int open_file(const char *path, uint64_t ino)
{
	struct stat st;
	char again[32];
	int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int out = -ESTALE;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_ino == ino) { // the device differs on overlays
		snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
		out = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		out = out < 0 ? -errno : out;
	}
	close(fd);
	return out;
}

// By the mapping itself (needs rights), or by its name as the process sees it.
static int open_mapped(pid_t pid, const struct maps_line *m)
{
	char path[4200];
	pid_t tid = living_of(pid);
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)tid, m->lo, m->hi);
	int fd = open_file(path, m->ino);
	if (fd < 0 && snprintf(path, sizeof(path), "/proc/%d/root%s", (int)tid, m->path) < (int)sizeof(path))
		fd = open_file(path, m->ino);
	if (fd < 0) {
		snprintf(path, sizeof(path), "/proc/%d/exe", (int)tid);
		fd = open_file(path, m->ino);
	}
	return fd;
}

static struct module_scan_object *known(const struct module_scan *s, const struct maps_line *m)
{
	for (size_t i = s->n; i-- > 0;)
		if (s->v[i].ino == m->ino && s->v[i].major == m->major && s->v[i].minor == m->minor)
			return &s->v[i];
	return NULL;
}

struct discovery {
	struct module_scan *s;
	pid_t pid;
	const struct ctp_region *r;
};

static void note_function(const struct ctp_switch_function *row, uint64_t start,
			  struct module_scan_functions *out)
{
	bool refused = row->how == CTP_FUNCTION_REFUSED;
	char *kind = refused ? out->refused : out->patched;
	if (row->how == CTP_FUNCTION_INTERPOSED)
		out->interposed = true;
	snprintf(kind, sizeof(out->patched), "%.*s", (int)sizeof(row->kind) - 1, row->kind);
	for (char *p = kind; *p; p++)
		if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
			*p = '?';
	unsigned i = 0;
	while (i < out->nseen && out->seen[i] != row->addr - start)
		i++;
	if (!refused && i == out->nseen && i < MODULE_SCAN_SEEN)
		out->seen[out->nseen++] = row->addr - start;
	if (refused) {
		out->reason = row->reason;
		out->at = row->addr - start;
	}
}

static uint32_t functions_of(const struct ctp_region *r)
{
	uint32_t n = r && r->functions ? ctp_load32(&r->ext->functions) : 0;
	return n < CTP_SWITCH_FUNCTIONS_MAX ? n : CTP_SWITCH_FUNCTIONS_MAX;
}

// The functions in this mapping that the library has noted. The table is the program's to write.
static void note_functions(const struct ctp_region *r, const struct maps_line *m,
			   struct module_scan_functions *out)
{
	for (uint32_t i = 0, n = functions_of(r); i < n && i < r->functions_max; i++) {
		const struct ctp_switch_function *row = &r->functions[i];
		if (ctp_load32(&row->ready) && row->addr >= m->lo && row->addr < m->hi)
			note_function(row, m->lo - m->offset, out);
	}
}

static struct module_scan_object *add(struct module_scan *s, const char *path)
{
	char *own = s->n < OBJECTS_MOST ? strdup(path) : NULL;
	if (!own || GROW(s->v, s->n, s->capacity)) {
		free(own);
		s->full = true;
		return NULL;
	}
	s->v[s->n] = (struct module_scan_object){.fd = -1, .path = own};
	return &s->v[s->n++];
}

// By its name, as the loader has it: perhaps a link to the file that is mapped.
static struct module_scan_object *by_name(const struct module_scan *s, const char *path)
{
	const char *name = file_base(path);
	for (size_t i = 0; i < s->n; i++)
		if (!strncmp(file_base(s->v[i].path), name, strlen(name)))
			return &s->v[i];
	return NULL;
}

void module_scan_functions(struct module_scan *s, const struct ctp_region *r)
{
	for (uint32_t i = 0, n = functions_of(r); i < n && i < r->functions_max; i++) {
		const struct ctp_switch_function *row = &r->functions[i];
		uint32_t at = row->module;
		if (!ctp_load32(&row->ready) || at >= r->modules_max || !ctp_load32(&r->modules[at].ready))
			continue;
		struct ctp_module m = r->modules[at];
		m.path[sizeof(m.path) - 1] = '\0';
		struct module_scan_object *o = by_name(s, m.path);
		if (o || (o = add(s, m.path)))
			note_function(row, m.start, &o->functions);
	}
}

static int discover(void *arg, const struct maps_line *m)
{
	struct discovery *l = arg;
	struct module_scan *s = l->s;
	// Code in memory of the process's own making is no object.
	if (!m->ino || m->perms[2] != 'x' || *m->path != '/' || !strncmp(m->path, "/memfd:", 7))
		return 0;
	struct module_scan_object *o = known(s, m);
	if (o) {
		note_functions(l->r, m, &o->functions);
		return 0;
	}
	if (!(o = add(s, m->path)))
		return 1;
	o->ino = m->ino;
	o->major = m->major;
	o->minor = m->minor;
	o->fd = open_mapped(l->pid, m);
	note_functions(l->r, m, &o->functions);
	return 0;
}

void module_scan_find(struct module_scan *s, pid_t pid, const struct ctp_region *r)
{
	struct discovery l = {s, pid, r};
	maps_each(pid, discover, &l);
}

bool module_scan_read(struct module_scan *s)
{
	if (s->read == s->n)
		return false;
	struct module_scan_object *o = &s->v[s->read++];
	if (o->fd < 0) {
		s->unread++;
		return true;
	}
	s->unread += switch_signatures_read(&o->signatures, o->fd) < 0;
	if (!o->signatures.exports) // else it is the exported function's code (libc's, above all)
		o->ncode = (unsigned)switch_code_read(o->fd, o->code, MODULE_SCAN_CODE);
	close(o->fd);
	o->fd = -1;
	return true;
}

void module_scan_turn(struct module_scan *s, struct module_scan_watch *w, pid_t pid,
		      const struct ctp_region *r, uint64_t now_ns)
{
	if (now_ns < w->again_ns)
		return;
	module_scan_find(s, pid, r);
	w->step_ns = w->step_ns ? w->step_ns * 2 : STEP_LEAST_NS;
	w->again_ns = now_ns + w->step_ns;
}

struct text {
	char *at;
	size_t bytes;
};

static void say(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct text *t, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	int n = vsnprintf(t->at, t->bytes, format, ap);
	va_end(ap);
	size_t used = n < 0 ? 0 : (size_t)n < t->bytes ? (size_t)n : t->bytes - 1;
	t->at += used;
	t->bytes -= used;
}

static void say_functions(struct text *t, unsigned which)
{
	const char *name, *between = "";
	for (unsigned i = 0; (name = switch_signatures_function(i)); i++)
		if (which & 1U << i) {
			say(t, "%s%s", between, name);
			between = ", ";
		}
}

void module_scan_text(const struct module_scan *s, char *out, size_t bytes)
{
	struct text t = {out, bytes};
	size_t found = 0, patched = 0;
	say(&t, "looked for ");
	say_functions(&t, ~0U);
	say(&t, " and a longjmp to another stack: ");
	for (size_t i = 0; i < s->n; i++) {
		if (!s->v[i].signatures.imports || found++ >= NAMED_MOST)
			continue;
		say(&t, "%s%.60s imports ", found > 1 ? "; " : "", file_base(s->v[i].path));
		say_functions(&t, s->v[i].signatures.imports);
	}
	if (found > NAMED_MOST)
		say(&t, "; %zu more files import some", found - NAMED_MOST);
	for (size_t i = 0; i < s->n; i++) {
		if (!*s->v[i].functions.patched || patched++ >= NAMED_MOST)
			continue;
		say(&t, "%s%.60s has its own %s, %s", found++ ? "; " : "", file_base(s->v[i].path),
		    s->v[i].functions.patched, s->v[i].functions.interposed ? "interposed" : "patched");
	}
	if (patched > NAMED_MOST)
		say(&t, "; and so do %zu more files", patched - NAMED_MOST);
	if (!found)
		say(&t, "none of %zu files imports one of them to switch coroutines", s->n - s->unread);
	if (s->unread)
		say(&t, "; %zu %s could not be read", s->unread, s->unread == 1 ? "file" : "files");
	if (s->full)
		say(&t, "; more files were not examined");
}

static const char *reason_of(const struct module_scan_functions *f)
{
	static const char *const words[] = {
		[CTP_FUNCTION_UNKNOWN] = "its code is not one that ctp knows",
		[CTP_FUNCTION_BREAKPOINT] = "a breakpoint stands in it",
		[CTP_FUNCTION_THREADS] =
			"threads that were running already may be in it, and a jump from its first byte would lead into memory that is in use",
		[CTP_FUNCTION_MEMORY] = "its code could not be written (/proc/self/mem)",
		[CTP_FUNCTION_PART] = "another function that belongs to it was not found",
		[CTP_FUNCTION_ROOM] = "there are too many of them",
	};
	const char *why = f->reason < sizeof(words) / sizeof(*words) ? words[f->reason] : NULL;
	return why ? why : "libctp.so did not say why";
}

// The runtimes of this object that are not seen, a bit each: not those whose own code is patched.
static unsigned known_of(const struct module_scan_object *o)
{
	if (!strcmp(file_base(o->path), "libctp.so")) // it has the names of what it stands before
		return 0;
	return *o->functions.patched ? o->signatures.known & ~switch_signatures_patchable() :
				       o->signatures.known;
}

static unsigned copies_of(const struct module_scan_object *o)
{
	return *o->functions.patched ? 0 : o->signatures.copies;
}

// The function begins before the place where it stores the stack pointer, and is short.
static bool is_seen(const struct module_scan_functions *f, const struct switch_code *c)
{
	enum { FUNCTION_MOST = 128 };
	for (unsigned i = 0; i < f->nseen; i++)
		if (c->at - f->seen[i] < FUNCTION_MOST || c->offset - f->seen[i] < FUNCTION_MOST)
			return true;
	return false;
}

// Code that switches stacks, where no name and nothing that libctp.so found says more.
static const struct switch_code *code_of(const struct module_scan_object *o)
{
	bool named = known_of(o) || copies_of(o) || *o->functions.refused;
	for (unsigned i = 0; i < o->ncode && !named; i++)
		if (!is_seen(&o->functions, &o->code[i]))
			return &o->code[i];
	return NULL;
}

static bool hidden(const struct module_scan_object *o)
{
	return known_of(o) || copies_of(o) || *o->functions.refused || code_of(o);
}

// "PHP fibers (zend_fiber_switch_context), its own jump_fcontext"
static void say_hidden(struct text *t, const struct module_scan_object *o)
{
	const char *between = "", *symbol;
	for (unsigned i = 0; (symbol = switch_signatures_symbol(i)); i++)
		if (known_of(o) & 1U << i) {
			say(t, "%s%s (%s)", between, switch_signatures_runtime(i), symbol);
			between = ", ";
		}
	if (copies_of(o)) {
		say(t, "%sits own ", between);
		say_functions(t, copies_of(o));
		between = ", ";
	}
	const struct switch_code *code = code_of(o);
	if (code)
		say(t, "code that sets the stack pointer at %.60s+0x%" PRIx64, file_base(o->path), code->at);
	if (*o->functions.refused)
		say(t, "%s%s at +0x%" PRIx64 ", which is left alone: %s", between, o->functions.refused,
		    o->functions.at, reason_of(&o->functions));
}

bool module_scan_hidden(const struct module_scan *s, size_t i, char *out, size_t bytes)
{
	struct text t = {out, bytes};
	if (i >= s->n || !hidden(&s->v[i]))
		return false;
	say(&t, "%.300s has switches that cannot be interposed and are not seen: ", s->v[i].path);
	say_hidden(&t, &s->v[i]);
	return true;
}

void module_scan_hidden_all(const struct module_scan *s, char *out, size_t bytes)
{
	struct text t = {out, bytes};
	size_t found = 0;
	*out = '\0';
	for (size_t i = 0; i < s->n; i++) {
		if (!hidden(&s->v[i]) || found++ >= NAMED_MOST)
			continue;
		say(&t, "%s%.60s: ", found > 1 ? "; " : "cannot be interposed, so not seen: ",
		    file_base(s->v[i].path));
		say_hidden(&t, &s->v[i]);
	}
	if (found > NAMED_MOST)
		say(&t, "; and in %zu more files", found - NAMED_MOST);
}

void module_scan_deinit(struct module_scan *s)
{
	for (size_t i = 0; s && i < s->n; i++) {
		if (s->v[i].fd >= 0)
			close(s->v[i].fd);
		free(s->v[i].path);
	}
	if (s)
		free(s->v);
	if (s)
		*s = (struct module_scan){0};
}
