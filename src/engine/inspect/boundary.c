// SPDX-License-Identifier: MIT
//
// The ABI boundary. The x86-64 psABI (3.2.1) lets a called function destroy all
// vector, mask, x87 and MMX registers. So while a thread executes a system call of
// libc or of libctp, the program, which called that function, has no live value in
// them: what they hold are remains, mostly of libc's string functions, whose choice
// depends on the CPU. The integer registers count nonetheless.
//
// The innermost frame alone decides. A callback that libc calls (qsort, atexit) and
// main below __libc_start_main are the program's text, with its own system calls. A
// signal's handler that calls libc does not lose what it interrupted: the kernel has
// saved that in the signal frame, which is live memory.
//
// Only a system call is such a point: libc's memmove may hold the only copy of a
// pointer in a vector register while it waits for a page.
#include "engine/inspect/boundary.h"

#include <string.h>

#include "unwind/arch.h"

static const char *after(const char *text, const char *prefix)
{
	size_t n = strlen(prefix);
	return strncmp(text, prefix, n) ? NULL : text + n;
}

// libc.so.6, libpthread.so.0; libc-2.31.so, as maps has it where those are links; replaced on disk meanwhile
// or not.
static bool libc_file(const char *name)
{
	static const char *const sonames[] = {"libc.so.6", "libpthread.so.0"};
	static const char *const versioned[] = {"libc-2.", "libpthread-2."};
	const char *rest = NULL;
	for (size_t i = 0; !rest && i < sizeof(sonames) / sizeof(*sonames); i++)
		rest = after(name, sonames[i]);
	for (size_t i = 0; !rest && i < sizeof(versioned) / sizeof(*versioned); i++) {
		rest = after(name, versioned[i]);
		if (rest)
			rest = after(rest + strspn(rest, "0123456789"), ".so");
	}
	return rest && (!*rest || !strcmp(rest, " (deleted)"));
}

static const struct maps_line *text_at(const struct proc_maps *maps, uint64_t pc)
{
	const struct maps_line *m = proc_maps_find(maps, pc);
	return m && m->ino && m->perms[2] == 'x' && m->perms[1] != 'w' && m->perms[3] == 'p' ? m : NULL;
}

bool boundary_in_libc(const struct proc_maps *maps, uint64_t pc)
{
	const struct maps_line *m = text_at(maps, pc);
	const char *name = m ? strrchr(m->path, '/') : NULL;
	return name && libc_file(name + 1);
}

// On the library's private stacks it stands behind a switch, whose hook keeps vector registers for it.
static bool in_libctp(const struct inspection *l, const struct proc_task *t)
{
	const struct ctp_ext *e = l->r->ext;
	return t->pc - e->self_base < e->self_end - e->self_base && t->sp - e->areas_base >= e->areas_bytes &&
	       text_at(&l->maps, t->pc);
}

bool boundary_vectors_dead(const struct inspection *l, const struct proc_task *t)
{
	return ARCH_CALLS_TAKE_VECTORS && t->nr >= 0 &&
	       (boundary_in_libc(&l->maps, t->pc) || in_libctp(l, t));
}
