// SPDX-License-Identifier: MIT
//
// Programs inherit LD_PRELOAD, and with it this library, and some cannot bear it: a loader that is not
// glibc's does not find what the library needs, a sanitizer's runtime ends a program in which it is not the
// first, and where the library's file cannot be reached (chroot, setuid) the loader says so on stderr. For
// such an image the library is left out of LD_PRELOAD. All else goes on as it is, through untraced programs,
// too: shells are such. What glibc executes by itself (system, popen) is a shell, and passes its own hooks.
//
// Between vfork and exec everything is the parent's memory: what is needed lies on the stack.
#include <alloca.h>
#include <link.h>
#include <spawn.h>
#include <stdarg.h>

#include "preload/hooks/hook.h"
#include "preload/guest/exec_image.h"

extern char **environ;

enum { ROOM = 16 << 10 }; // of stack, for another environment; what needs more is left as it is

// A call of the exec family.
struct call {
	long (*go)(const struct call *c, char *const *env);
	const char *file;
	char *const *argv;
	bool search; // in PATH
	bool itself; // the file is what `fd` refers to
	int fd, flags;
	pid_t *pid;
	const posix_spawn_file_actions_t *actions;
	const posix_spawnattr_t *attributes;
};

static const char variable[] = "LD_PRELOAD=";

static const char *own_path(void)
{
	struct dl_find_object o;
	return _dl_find_object((void *)own_path, &o) ? "" : o.dlfo_link_map->l_name;
}

static bool is_ours(const char *name, size_t n)
{
	const char *own = own_path();
	static const char base[] = "/libctp.so";
	const size_t b = sizeof(base) - 1;
	return (strlen(own) == n && !memcmp(own, name, n)) || (n >= b && !memcmp(name + n - b, base, b)) ||
	       (n == b - 1 && !memcmp(name, base + 1, n));
}

// What is in LD_PRELOAD: `*at` goes on behind the name that is returned. NULL: no more.
static const char *next_name(const char **at, size_t *n)
{
	const char *p = *at + strspn(*at, ": ");
	*n = strcspn(p, ": ");
	*at = p + *n;
	return *n ? p : NULL;
}

struct ours {
	size_t row; // of the environment
	const char *name;
	size_t n;
	bool behind_sanitizer;
};

// Whether an environment preloads this library.
static __attribute__((noinline)) bool find_ours(char *const *env, struct ours *o)
{
	for (o->row = 0; env && env[o->row]; o->row++) {
		const char *at = env[o->row] + sizeof(variable) - 1;
		if (strncmp(env[o->row], variable, sizeof(variable) - 1) != 0)
			continue;
		o->behind_sanitizer = false;
		while ((o->name = next_name(&at, &o->n))) {
			if (is_ours(o->name, o->n))
				return true;
			const char *slash = memrchr(o->name, '/', o->n);
			o->behind_sanitizer |= exec_image_sanitizer(slash ? slash + 1 : o->name);
		}
		return false;
	}
	return false;
}

// Whether the loader will find its file. Of another copy than the one that runs here that is not asked.
static bool reached(const struct ours *o)
{
	const char *own = own_path();
	return *own != '/' || strlen(own) != o->n || memcmp(own, o->name, o->n) || exec_image_reached(own);
}

// Without this library.
static __attribute__((noinline)) long go_without(const struct call *c, char *const *env, size_t row,
						 size_t count)
{
	const char *at = env[row] + sizeof(variable) - 1, *name;
	char **without = alloca((count + 1) * sizeof(*without));
	char *list = alloca(strlen(env[row]) + 1), *begin = list + sizeof(variable) - 1, *end = begin;
	size_t n, to = 0;
	memcpy(list, variable, sizeof(variable));
	while ((name = next_name(&at, &n))) {
		if (is_ours(name, n))
			continue;
		if (end > begin)
			*end++ = ':';
		memcpy(end, name, n);
		end += n;
	}
	*end = 0;
	for (size_t i = 0; i < count; i++)
		if (i != row)
			without[to++] = env[i];
		else if (end > begin)
			without[to++] = list;
	without[to] = NULL;
	return c->go(c, without);
}

static long go(const struct call *c, char *const *env)
{
	struct ours o;
	size_t count = 0;
	if (!find_ours(env, &o))
		return c->go(c, env);
	enum exec_image what = c->search ? exec_image_named(c->file) :
					   exec_image_at(c->fd, c->itself ? NULL : c->file);
	bool fine = what == EXEC_IMAGE_FINE || (what == EXEC_IMAGE_SANITIZED && o.behind_sanitizer);
	if (fine && reached(&o))
		return c->go(c, env);
	while (env[count])
		count++;
	if (count * sizeof(*env) + strlen(env[o.row]) > ROOM)
		return c->go(c, env);
	return go_without(c, env, o.row, count);
}

static long go_execve(const struct call *c, char *const *env)
{
	return real_execve(c->file, c->argv, env);
}

static long go_execvpe(const struct call *c, char *const *env)
{
	return real_execvpe(c->file, c->argv, env);
}

static long go_execveat(const struct call *c, char *const *env)
{
	return real_execveat(c->fd, c->file, c->argv, env, c->flags);
}

static long go_fexecve(const struct call *c, char *const *env)
{
	return real_fexecve(c->fd, c->argv, env);
}

static long go_spawn(const struct call *c, char *const *env)
{
	return (c->search ? real_posix_spawnp : real_posix_spawn)(c->pid, c->file, c->actions, c->attributes,
								  c->argv, env);
}

CTP_HOOK int execve(const char *path, char *const argv[], char *const env[])
{
	return (int)go(&(struct call){.go = go_execve, .file = path, .argv = argv, .fd = AT_FDCWD}, env);
}

CTP_HOOK int execv(const char *path, char *const argv[])
{
	return (int)go(&(struct call){.go = go_execve, .file = path, .argv = argv, .fd = AT_FDCWD}, environ);
}

CTP_HOOK int execvpe(const char *name, char *const argv[], char *const env[])
{
	return (int)go(&(struct call){.go = go_execvpe, .file = name, .argv = argv, .search = true}, env);
}

CTP_HOOK int execvp(const char *name, char *const argv[])
{
	return (int)go(&(struct call){.go = go_execvpe, .file = name, .argv = argv, .search = true}, environ);
}

CTP_HOOK int execveat(int dir, const char *path, char *const argv[], char *const env[], int flags)
{
	bool itself = (flags & AT_EMPTY_PATH) && !*path;
	return (int)go(&(struct call){.go = go_execveat,
				      .file = path,
				      .argv = argv,
				      .itself = itself,
				      .fd = dir,
				      .flags = flags},
		       env);
}

CTP_HOOK int fexecve(int fd, char *const argv[], char *const env[])
{
	return (int)go(&(struct call){.go = go_fexecve, .argv = argv, .itself = true, .fd = fd}, env);
}

CTP_HOOK int posix_spawn(pid_t *restrict pid, const char *restrict path,
			 const posix_spawn_file_actions_t *actions,
			 const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
			 char *const env[restrict])
{
	return (int)go(&(struct call){.go = go_spawn,
				      .file = path,
				      .argv = argv,
				      .fd = AT_FDCWD,
				      .pid = pid,
				      .actions = actions,
				      .attributes = attributes},
		       env);
}

CTP_HOOK int posix_spawnp(pid_t *pid, const char *name, const posix_spawn_file_actions_t *actions,
			  const posix_spawnattr_t *attributes, char *const argv[], char *const env[])
{
	return (int)go(&(struct call){.go = go_spawn,
				      .file = name,
				      .argv = argv,
				      .search = true,
				      .pid = pid,
				      .actions = actions,
				      .attributes = attributes},
		       env);
}

// With the arguments one by one: put in a row on the stack, as glibc does.
#define LISTED(how, environment) \
	va_list ap; \
	size_t n = 1; \
	va_start(ap, first); \
	for (const char *a = first; a; a = va_arg(ap, const char *)) \
		n++; \
	va_end(ap); \
	char **argv = alloca(n * sizeof(*argv)); \
	va_start(ap, first); \
	argv[0] = (char *)first; \
	for (size_t i = 1; i < n; i++) \
		argv[i] = va_arg(ap, char *); \
	char *const *env = environment; \
	va_end(ap); \
	return (int)go(&(struct call){.go = how, \
				      .file = file, \
				      .argv = argv, \
				      .search = (how) == go_execvpe, \
				      .fd = AT_FDCWD}, \
		       env)

CTP_HOOK int execl(const char *file, const char *first, ...)
{
	LISTED(go_execve, environ);
}

CTP_HOOK int execlp(const char *file, const char *first, ...)
{
	LISTED(go_execvpe, environ);
}

CTP_HOOK int execle(const char *file, const char *first, ...)
{
	LISTED(go_execve, va_arg(ap, char *const *));
}
