// SPDX-License-Identifier: MIT
//
// Patches known switch functions. The entry becomes a jump through an instance (movabs, jmp:
// no register but rax, which no such function takes an argument in, and no distance to keep);
// what it displaces is copied to a piece of the pool, which lies in libctp.so's own code, with a
// jump back behind it. Code is written through /proc/self/mem, which needs no right to change
// protections, and leaves them as they are. All that is known of an object's functions is
// patched, or nothing: half of an engine would say that coroutines run that do not. Runs with the
// loader's lock held: before main, or where the loader tells debuggers of a new object.
#include "preload/patch/patch.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>

#include "cpu.h"
#include "entry.h"
#include "preload/guest/guest.h"
#include "preload/guest/modules.h"
#include "preload/guest/say.h"
#include "preload/patch/code.h"
#include "preload/patch/live.h"
#include "preload/patch/match.h"
#include "preload/patch/recall.h"

enum { FOUND_MOST = 64 };

static struct switcher switchers[SWITCHERS_MOST];
static uint8_t displaced[SWITCHERS_MOST][SWITCHER_ENTRY_BYTES];
static struct live lives[SWITCHERS_MOST]; // of those that were patched under threads
static int mem = -1;

static void (*const trampolines[])(void) = {
#if CPU_PATCHES
	[SWITCHER_HANDLE] = transfer_handle, [SWITCHER_ONTOP] = transfer_ontop,
	[SWITCHER_ENTER] = transfer_enter,   [SWITCHER_FROM] = transfer_from,
	[SWITCHER_SLOT] = transfer_slot,     [SWITCHER_SLOT_BACK] = transfer_slot_back,
	[SWITCHER_HELPER] = transfer_helper, [SWITCHER_STRUCT] = transfer_struct,
	[SWITCHER_SAVE] = transfer_save,     [SWITCHER_RESTORE] = transfer_restore,
	[SWITCHER_MAKE] = transfer_make,     [SWITCHER_GREENLET] = transfer_greenlet,
#else
	NULL
#endif
};

// ------------------------------------------------------------- writing

int patch_write(void *at, const void *bytes, size_t n)
{
	if (mem < 0)
		mem = (int)cpu_syscall(SYS_openat, AT_FDCWD, (long)"/proc/thread-self/mem",
				       O_RDWR | O_CLOEXEC, 0, 0, 0);
	if (mem < 0)
		return mem;
	long r = cpu_syscall(SYS_pwrite64, mem, (long)bytes, (long)n, (long)at, 0, 0);
	return r < 0 ? (int)r : r == (long)n && memcmp(at, bytes, n) == 0 ? 0 : -EIO;
}

void patch_close(void)
{
	if (mem >= 0)
		cpu_syscall(SYS_close, mem, 0, 0, 0, 0, 0);
	mem = -1;
}

// One to which a jump leads under running threads is not given away: a thread may be on its way there.
static struct switcher *take(void)
{
	for (unsigned i = 0; i < SWITCHERS_MOST; i++)
		if (!switchers[i].at && !lives[i].word)
			return &switchers[i];
	return NULL;
}

static int put_entry(const struct object *o, const struct match *m, size_t i, bool live)
{
	uint8_t *at = m->at + cpu_landing_pad(m->at), entry[SWITCHER_ENTRY_BYTES];
	if (live)
		return live_patch(&lives[i], o, m->at, &switchers[i]);
	cpu_entry(entry, &switchers[i]);
	memcpy(displaced[i], at, sizeof(displaced[i]));
	return patch_write(at, entry, sizeof(entry));
}

static int patch(const struct object *o, const struct match *m, bool live)
{
	struct switcher *s = take();
	uint8_t *at = m->at + cpu_landing_pad(m->at), piece[SWITCHER_PIECE];
	if (!s)
		return -ENOSPC;
	size_t i = (size_t)(s - switchers);
	uint8_t *real = cpu_pool + i * SWITCHER_PIECE;
	cpu_piece(piece, at, m->row->prefix);
	int r = patch_write(real, piece, sizeof(piece));
	if (r)
		return r;
	*s = (struct switcher){.entry = trampolines[m->row->family],
			       .bytes = m->row->bytes,
			       .sp_at = m->row->sp_at,
			       .pc_at = m->row->pc_at,
			       .family = m->row->family,
			       .row = m->row};
	memcpy(&s->real, &real, sizeof(real));
	r = put_entry(o, m, i, live);
	if (!r)
		s->at = m->at;
	return r;
}

static void undo(const struct match *m, size_t n)
{
	for (unsigned i = 0; i < SWITCHERS_MOST; i++) {
		struct switcher *s = &switchers[i];
		for (size_t k = 0; k < n && s->at; k++) {
			if (s->at != m[k].at)
				continue;
			if (lives[i].word)
				live_undo(&lives[i]);
			else
				patch_write(s->at + cpu_landing_pad(s->at), displaced[i],
					    sizeof(displaced[i]));
			s->at = NULL;
		}
	}
}

void patch_gone(uint64_t lo, uint64_t hi)
{
	for (unsigned i = 0; i < SWITCHERS_MOST; i++)
		if ((uint64_t)switchers[i].at - lo < hi - lo)
			switchers[i].at = NULL;
}

void *patch_behind(void *fn)
{
	for (unsigned i = 0; i < SWITCHERS_MOST && fn; i++)
		if (switchers[i].at == fn)
			memcpy(&fn, &switchers[i].real, sizeof(fn));
	return fn;
}

struct switcher *patch_instance(const void *fn)
{
	for (unsigned i = 0; i < SWITCHERS_MOST && fn; i++)
		if (switchers[i].at &&
		    (switchers[i].at == fn || memcmp(&switchers[i].real, &fn, sizeof(fn)) == 0))
			return &switchers[i];
	return NULL;
}

bool patch_within(uint64_t lo, uint64_t hi)
{
	for (unsigned i = 0; i < SWITCHERS_MOST; i++)
		if (switchers[i].at && (uint64_t)switchers[i].at - lo < hi - lo)
			return true;
	return false;
}

void (*patch_trampoline(enum switcher_family family))(void)
{
	return family < sizeof(trampolines) / sizeof(trampolines[0]) ? trampolines[family] : NULL;
}

// ------------------------------------------------------------- deciding

static bool threads(void)
{
	struct stat st; // a folder has a link for each folder in it, and two
	if (__libc_single_threaded)
		return false;
	return cpu_syscall(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/task", (long)&st, 0, 0, 0) ||
	       st.st_nlink > 3;
}

// What libctp.so interposes: all that call these functions of a library by their names are seen.
static const char *const interposed[] = {"jump_fcontext", "ontop_fcontext", "make_fcontext"};

// Does nobody call it but by a name that leads to a hook?
static bool is_interposed(const struct object *o, const uint8_t *fn)
{
	bool exported = false;
	uint8_t *lo, *hi;
	for (unsigned i = 0; i < sizeof(interposed) / sizeof(interposed[0]) && !o->program; i++)
		exported |= object_export(o, interposed[i]) == fn;
	for (unsigned at = 0; exported && object_code(o, &at, &lo, &hi);)
		if (match_calls(lo, hi, fn))
			return false;
	return exported;
}

static bool has_family(const struct match *m, size_t n, const struct match *of, enum switcher_family family)
{
	for (size_t i = 0; i < n; i++)
		if (m[i].row->family == family && strcmp(m[i].row->kind, of->row->kind) == 0)
			return true;
	return false;
}

// May a thread, or a context that was saved by a signal, stand in its code?
static bool may_be_inside(enum patch_when when)
{
	return when == PATCH_RUNS || (when == PATCH_START && threads());
}

// Functions that make contexts and are left unpatched: their contexts are discovered when they first run.
static size_t leave_makers(struct match *m, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++)
		if (m[i].row->family != SWITCHER_MAKE)
			m[kept++] = m[i];
	return kept;
}

static enum ctp_function_reason why_not(const struct match *m, size_t n, bool live)
{
	for (size_t i = 0; i < n; i++) {
		if (m[i].broken)
			return CTP_FUNCTION_BREAKPOINT;
		if (m[i].row->family == SWITCHER_RESTORE && !has_family(m, n, &m[i], SWITCHER_SAVE))
			return CTP_FUNCTION_PART;
	}
	for (size_t i = 0; live && i < n; i++)
		if (!live_can(m[i].at))
			return CTP_FUNCTION_THREADS;
	return CTP_FUNCTION_WELL;
}

// Who restores without having saved has left for good: where threads run, what saves is patched first, and
// gets its code back last.
static bool goes_first(const struct switcher_row *row)
{
	return row->family != SWITCHER_RESTORE;
}

static enum ctp_function_reason patch_all(const struct object *o, const struct match *m, size_t n, bool live)
{
	int r = 0;
	for (int first = 1; first >= 0; first--)
		for (size_t i = 0; i < n && !r; i++)
			if (goes_first(m[i].row) == first)
				r = patch(o, &m[i], live);
	if (live)
		live_fetch_anew();
	if (!r)
		return CTP_FUNCTION_WELL;
	undo(m, n);
	return r == -ENOSPC ? CTP_FUNCTION_ROOM : CTP_FUNCTION_MEMORY;
}

// ------------------------------------------------------------- saying so

// Its row in the region, + 1; 0: there is no room.
static uint32_t note_row(const struct object *o, const uint8_t *at, const char *kind,
			 enum ctp_function_how how, enum ctp_function_reason reason)
{
	struct ctp_region *r = &ctp_tracer->region;
	uint32_t module = modules_note_range(o->base, o->start, o->end, o->map->l_name), i = 0;
	if (!r->functions || !module)
		return 0;
	for (; i < r->functions_max && ctp_load32(&r->functions[i].ready); i++)
		if (r->functions[i].addr == (uint64_t)at && r->functions[i].module == module - 1)
			break; // loaded again
	if (i == r->functions_max)
		return 0;
	struct ctp_switch_function *f = &r->functions[i];
	size_t n = strlen(kind);
	f->how = (uint16_t)how;
	f->reason = (uint16_t)reason;
	f->module = module - 1;
	f->addr = (uint64_t)at;
	memcpy(f->kind, kind, n < sizeof(f->kind) ? n : sizeof(f->kind) - 1);
	if (!ctp_load32(&f->ready)) {
		ctp_store32(&f->ready, 1);
		ctp_add32(&r->ext->functions, 1);
	}
	return i + 1;
}

static void note(const struct object *o, const uint8_t *at, const char *kind, enum ctp_function_reason reason)
{
	const char *path = o->map->l_name;
	say_debug("%s: a switch function of %s %s", path && *path ? path : "the program", kind,
		  reason ? "is left alone" : "is patched");
	uint32_t row = note_row(o, at, kind, reason ? CTP_FUNCTION_REFUSED : CTP_FUNCTION_PATCHED, reason);
	for (unsigned k = 0; k < SWITCHERS_MOST && row; k++)
		if (switchers[k].at == at)
			switchers[k].function = row;
}

static uint32_t noting; // two threads may call a function for the first time

uint32_t patch_note_interposed(const struct object *o, const uint8_t *fn, const char *kind)
{
	if (!ctp_cas32(&noting, 0, 1))
		return 0;
	uint32_t row = note_row(o, fn, kind, CTP_FUNCTION_INTERPOSED, CTP_FUNCTION_WELL);
	ctp_store32(&noting, 0);
	return row;
}

// Names that only a switch function has, where its code is another than those that are known.
static void note_strangers(const struct object *o, const struct match *m, size_t n)
{
	static const struct {
		const char *name, *kind;
	} known[] = {{"coroutine_transfer", "Ruby"},
		     {"coro_transfer", "libcoro"},
		     {"fiber_switchContext", "D runtime"},
		     {"qt_block", "QuickThreads"},
		     {"acosw", "libaco"},
		     {"coctx_swap", "Tencent libco"},
		     {"marl_fiber_swap", "marl"},
		     {"bthread_jump_fcontext", "bthreads"},
		     {"_st_md_cxt_restore", "State Threads"}};
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const uint8_t *at = object_export(o, known[i].name);
		bool found = !at;
		for (size_t k = 0; k < n; k++)
			found |= m[k].at == at;
		if (!found)
			note(o, at, known[i].kind, CTP_FUNCTION_UNKNOWN);
	}
}

// A function that is the same in one build of its library only, which exports it.
static size_t named(const struct object *o, struct match *m, size_t n)
{
	uint8_t *lo, *hi, *at = object_export(o, "_ZN8greenlet8Greenlet13g_switchstackEv");
	for (unsigned i = 0; at && n < FOUND_MOST && object_code(o, &i, &lo, &hi);)
		for (size_t k = 0; at >= lo && at < hi && k < match_rows_count; k++)
			if (match_rows[k].family == SWITCHER_GREENLET && match_is(&match_rows[k], at, hi))
				m[n++] = (struct match){&match_rows[k], at, false};
	return n;
}

void patch_object(const struct object *o, enum patch_when when)
{
	struct match m[FOUND_MOST];
	size_t n = 0, kept = 0;
	bool known = recall_get(o, m, FOUND_MOST, &n);
	if (!known) {
		n = code_matches(o, when != PATCH_FRESH, m, FOUND_MOST);
		n = named(o, m, n);
		recall_put(o, m, n);
	}
	note_strangers(o, m, n);
	for (size_t i = 0; i < n; i++)
		if (!is_interposed(o, m[i].at))
			m[kept++] = m[i];
	bool live = kept && may_be_inside(when);
	if (live)
		kept = leave_makers(m, kept);
	if (!kept)
		return;
	enum ctp_function_reason reason = why_not(m, kept, live);
	if (!reason)
		reason = patch_all(o, m, kept, live);
	for (size_t i = 0; i < kept; i++)
		note(o, m[i].at, m[i].row->kind, reason);
}

static bool is_code(const struct object *o, const uint8_t *at, size_t bytes)
{
	uint8_t *lo, *hi;
	for (unsigned i = 0; object_code(o, &i, &lo, &hi);)
		if (at >= lo && at < hi && (size_t)(hi - at) >= bytes)
			return true;
	return false;
}

static bool stands(unsigned i)
{
	uint8_t entry[SWITCHER_ENTRY_BYTES] = {0};
	const struct switcher *s = &switchers[i];
	if (lives[i].word)
		return live_stands(&lives[i]) ||
		       (match_is(s->row, s->at, s->at + s->row->length) && !live_redo(&lives[i]));
	cpu_entry(entry, s);
	return memcmp(s->at + cpu_landing_pad(s->at), entry, sizeof(entry)) == 0;
}

static bool one_again(const struct object *o, unsigned i)
{
	struct switcher *s = &switchers[i];
	if (!is_code(o, s->at, s->row->length) || !stands(i)) {
		s->at = NULL; // another object has come to its place
		return false;
	}
	note(o, s->at, s->row->kind, CTP_FUNCTION_WELL);
	return true;
}

bool patch_again(const struct object *o)
{
	bool any = false;
	for (int first = 1; first >= 0; first--)
		for (unsigned i = 0; i < SWITCHERS_MOST; i++) {
			const struct switcher *s = &switchers[i];
			if (s->at && (uint64_t)s->at - o->start < o->end - o->start &&
			    goes_first(s->row) == first)
				any |= one_again(o, i);
		}
	return any;
}

static bool is_loaded(const uint8_t *at)
{
	struct dl_find_object o;
	return _dl_find_object((uint8_t *)at, &o) == 0;
}

void patch_rest(void)
{
	bool any = false;
	for (int first = 0; first <= 1; first++)
		for (unsigned i = 0; i < SWITCHERS_MOST; i++)
			any |= switchers[i].at && goes_first(switchers[i].row) == first && lives[i].word &&
			       is_loaded(switchers[i].at) && !live_undo(&lives[i]);
	if (any)
		live_fetch_anew();
}
