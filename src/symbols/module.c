// SPDX-License-Identifier: MIT
//
// One object file and its debug information, by libdwfl, which finds separate debug files
// (build id, debuglink) and falls back to symbol tables. Each module has a Dwfl of its
// own at the address where it was mapped, so that two modules that were mapped at one
// address at different times do not collide. A file with another build id than the one
// that ran is not used.
#include "symbols/module.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/text.h"
#include "symbols/demangle.h"
#include "symbols/ehframe.h"
#include "symbols/awaits.h"
#include "symbols/gate.h"
#include "symbols/units.h"

struct module {
	struct symbols_module what;
	char *path;       // of the file here
	char *debug_path; // where debug files are looked for
	Dwfl_Callbacks callbacks;
	Dwfl *dwfl;
	Dwfl_Module *mod;
	struct units *units; // NULL: not asked for yet
	bool opened, mismatch;
	bool owned; // by `owner`, and nobody else may write to the file
	uid_t owner;
	char *real_path; // NULL: not opened
};

int module_new(struct module **out, const struct symbols_module *what, const char *symfs)
{
	struct module *m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->what = *what;
	char *path = file_join(NULL, what->path); // that no ".." leads out of the folder
	int r = path ? 0 : -1;
	if (r) {
		module_free(m);
		return -ENOMEM;
	}
	if (symfs) {
		r = asprintf(&m->path, "%s/%s", symfs, path);
		if (r >= 0)
			r = asprintf(&m->debug_path, ":.debug:%s/usr/lib/debug", symfs);
	} else {
		r = asprintf(&m->path, "%s", path);
		if (r >= 0)
			r = asprintf(&m->debug_path, ":.debug:/usr/lib/debug");
	}
	free(path);
	if (r < 0) {
		module_free(m);
		return -ENOMEM;
	}
	*out = m;
	return 0;
}

void module_free(struct module *m)
{
	if (!m)
		return;
	units_free(m->units);
	if (m->dwfl)
		dwfl_end(m->dwfl);
	free(m->path);
	free(m->real_path);
	free(m->debug_path);
	free(m);
}

static bool same_build(struct module *m)
{
	const unsigned char *bits;
	GElf_Addr at, bias;
	dwfl_module_getelf(m->mod, &bias);
	int n = dwfl_module_build_id(m->mod, &bits, &at);
	if (!m->what.build_id_len)
		return true;
	return n > 0 && (size_t)n == m->what.build_id_len && !memcmp(bits, m->what.build_id, (size_t)n);
}

// Opens the file at the first look; a file that cannot be used leaves mod NULL.
static void module_open(struct module *m)
{
	m->opened = true;
	struct stat st;
	int fd = *m->what.path == '/' ? file_open(AT_FDCWD, m->path, 0) : -1;
	if (fd < 0)
		return;
	m->real_path = realpath(m->path, NULL);
	m->owned = !fstat(fd, &st) && !(st.st_mode & S_IWOTH) && m->real_path;
	m->owner = m->owned ? st.st_uid : 0;
	m->callbacks = (Dwfl_Callbacks){
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &m->debug_path,
	};
	m->dwfl = dwfl_begin(&m->callbacks);
	if (m->dwfl) {
		dwfl_report_begin(m->dwfl);
		m->mod = dwfl_report_elf(m->dwfl, file_base(m->path), m->path, fd, m->what.base, true);
		dwfl_report_end(m->dwfl, NULL, NULL);
	}
	if (!m->mod) {
		close(fd); // with a module, dwfl owns it
		return;
	}
	if (!same_build(m)) {
		m->mismatch = true;
		m->mod = NULL;
	}
}

// A name out of a file may hold anything, and is shown.
static char *clean(char *name)
{
	if (name)
		text_clean(name);
	return name;
}

static char *die_name(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	const char *name = NULL;
	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &a) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &a))
		name = dwarf_formstring(&a);
	if (!name)
		name = dwarf_diename(die);
	return name ? clean(demangle(name)) : NULL;
}

static char *die_file(Dwarf_Die *cu, const char *name, char **dir)
{
	Dwarf_Attribute a;
	const char *at = dwarf_attr(cu, DW_AT_comp_dir, &a) ? dwarf_formstring(&a) : NULL;
	free(*dir);
	*dir = at ? clean(file_join(NULL, at)) : NULL;
	return name ? clean(file_join(at, name)) : NULL;
}

static int add_frame(struct module_frames *out, struct symbols_frame *f)
{
	int r = GROW(out->items, out->n, out->capacity);
	if (!r)
		out->items[out->n++] = *f;
	return r;
}

static void free_frame(struct symbols_frame *f)
{
	free((char *)f->symbol);
	free((char *)f->file);
	free((char *)f->dir);
}

static void call_site(Dwarf_Die *cu, Dwarf_Die *inlined, struct symbols_frame *next)
{
	Dwarf_Attribute a;
	Dwarf_Word file = 0, line = 0;
	Dwarf_Files *files;
	size_t n;
	char *dir = NULL;
	if (dwarf_attr(inlined, DW_AT_call_line, &a))
		dwarf_formudata(&a, &line);
	if (dwarf_attr(inlined, DW_AT_call_file, &a))
		dwarf_formudata(&a, &file);
	if (line && !dwarf_getsrcfiles(cu, &files, &n) && file < n)
		next->file = die_file(cu, dwarf_filesrc(files, file, NULL, NULL), &dir);
	next->dir = dir;
	next->line = next->file ? (int)line : 0;
}

// Of include/ctp/coroutine.h and coroutine.hpp: inlined where the program leaves, they say nothing of it. A
// template's name has its return type before it.
static bool is_announcing(const char *symbol)
{
	static const char *const begins[] = {"ctp::detail::", "ctp::promise<", "ctp_coroutine_"};
	size_t head = symbol ? strcspn(symbol, "<(") : 0;
	while (head && symbol[head - 1] != ' ')
		head--;
	for (unsigned i = 0; symbol && i < sizeof(begins) / sizeof(*begins); i++)
		if (!strncmp(symbol + head, begins[i], strlen(begins[i])))
			return true;
	static const char made[] = "::promise_type::promise_type";
	size_t n = symbol ? strcspn(symbol, "(") : 0;
	return n >= sizeof(made) - 1 && !strncmp(symbol + n - (sizeof(made) - 1), made, sizeof(made) - 1);
}

// The frames of one pc, innermost first: each inlined call, then the
// function. `f` holds the innermost line.
static int add_scopes(struct module_frames *out, Dwarf_Die *cu, Dwarf_Die *scopes, int n,
		      struct symbols_frame *f)
{
	int r = 0;
	for (int i = 0; i < n && !r; i++) {
		int tag = dwarf_tag(&scopes[i]);
		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
			continue;
		f->symbol = die_name(&scopes[i]);
		f->inlined = tag == DW_TAG_inlined_subroutine;
		struct symbols_frame next = {.pc = f->pc, .offset = f->offset, .module = f->module};
		if (f->inlined)
			call_site(cu, &scopes[i], &next);
		if (f->inlined && is_announcing(f->symbol))
			free_frame(f);
		else
			r = add_frame(out, f);
		*f = r ? *f : next;
		if (tag == DW_TAG_subprogram)
			return r;
	}
	return r ? r : -ENOENT;
}

// The function whose code has the address, wherever it is written below `die`. libdw's own search
// goes into those functions only that have it themselves, so it misses the code of a lambda, which
// is told below the abstract copy of the function that the lambda stands in.
static bool function_at(Dwarf_Die *die, Dwarf_Addr address, Dwarf_Die *found)
{
	Dwarf_Die child;
	for (int more = dwarf_child(die, &child); !more; more = dwarf_siblingof(&child, &child)) {
		int tag = dwarf_tag(&child);
		if (tag == DW_TAG_subprogram && dwarf_haspc(&child, address) > 0) {
			*found = child;
			return true;
		}
		bool holds = tag == DW_TAG_subprogram || tag == DW_TAG_namespace ||
			     tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
			     tag == DW_TAG_union_type || tag == DW_TAG_lexical_block;
		if (holds && function_at(&child, address, found))
			return true;
	}
	return false;
}

// Inwards, to the last inlined call that has the address.
static void innermost_at(Dwarf_Die *scope, Dwarf_Addr address)
{
	Dwarf_Die child;
	int more = dwarf_child(scope, &child);
	while (!more) {
		int tag = dwarf_tag(&child);
		if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
		    dwarf_haspc(&child, address) > 0) {
			*scope = child;
			more = dwarf_child(scope, &child);
		} else {
			more = dwarf_siblingof(&child, &child);
		}
	}
}

// The scopes of an address from the innermost outwards, through the code as it is placed, not through
// where an inlined function was written. How many, or none.
static int scopes_at(Dwarf_Die *cu, Dwarf_Addr address, Dwarf_Die **chain)
{
	Dwarf_Die *scopes, inner;
	bool in_function = false;
	int n = dwarf_getscopes(cu, address, &scopes);
	for (int i = 0; i < n && !in_function; i++)
		in_function = dwarf_tag(&scopes[i]) == DW_TAG_subprogram ||
			      dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine;
	if (in_function)
		inner = scopes[0];
	if (n > 0)
		free(scopes);
	if (!in_function) {
		if (!function_at(cu, address, &inner))
			return 0;
		innermost_at(&inner, address);
	}
	return dwarf_getscopes_die(&inner, chain);
}

// The unit that has the address: by .debug_aranges, and by the units themselves where that is not there or
// leaves it out.
static int find_unit(struct module *m, uint64_t address, Dwarf_Die *unit, Dwarf_Addr *bias)
{
	Dwarf_Die *known = dwfl_module_addrdie(m->mod, address, bias);
	if (known) {
		*unit = *known;
		return 0;
	}
	Dwarf *dwarf = dwfl_module_getdwarf(m->mod, bias);
	if (!dwarf)
		return -ENOENT;
	int r = m->units ? 0 : units_new(&m->units, dwarf);
	if (r)
		return r;
	return units_at(m->units, address - *bias, unit) ? 0 : -ENOENT;
}

static int find_dwarf(struct module *m, uint64_t address, struct symbols_frame *f, struct module_frames *out)
{
	Dwarf_Addr bias;
	Dwarf_Die unit, *cu = &unit;
	int r = find_unit(m, address, cu, &bias);
	if (r)
		return r;
	Dwarf_Line *line = dwarf_getsrc_die(cu, address - bias);
	char *dir = NULL;
	if (line) {
		dwarf_lineno(line, &f->line);
		f->file = die_file(cu, dwarf_linesrc(line, NULL, NULL), &dir);
		f->dir = dir;
	}
	Dwarf_Die *chain;
	int deep = scopes_at(cu, address - bias, &chain);
	if (deep <= 0)
		return -ENOENT;
	r = add_scopes(out, cu, chain, deep, f);
	free(chain);
	return r;
}

static int find(struct module *m, uint64_t address, uint64_t pc, struct module_frames *out)
{
	struct symbols_frame f = {
		.pc = pc,
		.offset = pc - m->what.base,
		.module = m->what.path,
	};
	if (!m->opened)
		module_open(m);
	if (m->mod) {
		size_t before = out->n;
		int r = find_dwarf(m, address, &f, out);
		if (r != -ENOENT || out->n > before) {
			free((char *)f.file);
			free((char *)f.dir);
			return r == -ENOENT ? 0 : r;
		}
		GElf_Off off;
		GElf_Sym sym;
		const char *name = dwfl_module_addrinfo(m->mod, address, &off, &sym, NULL, NULL, NULL);
		if (name && (!sym.st_size || off < sym.st_size))
			f.symbol = clean(demangle(name));
		GElf_Addr bias;
		if (!f.symbol)
			f.function =
				ehframe_function(dwfl_module_getelf(m->mod, &bias), address - m->what.base);
	}
	return add_frame(out, &f);
}

int module_find(struct module *m, uint64_t address, uint64_t pc, struct module_frames *out)
{
	gate_close();
	int r = find(m, address, pc, out);
	gate_open();
	return r;
}

// The same of a module that need not be open yet. The number; 0: there are none, and *chain is NULL.
static int scopes_of(struct module *m, uint64_t address, Dwarf_Die *unit, Dwarf_Addr *bias, Dwarf_Die **chain)
{
	*chain = NULL;
	if (!m->opened)
		module_open(m);
	if (!m->mod || find_unit(m, address, unit, bias))
		return 0;
	int n = scopes_at(unit, address - *bias, chain);
	if (n > 0)
		return n;
	*chain = NULL;
	return 0;
}

// An inlined function's own line is not asked for: it is that of the function whose code it stands in.
static int declared(struct module *m, uint64_t address)
{
	Dwarf_Die unit, *chain;
	Dwarf_Addr bias;
	int line = 0, n = scopes_of(m, address, &unit, &bias, &chain);
	for (int i = 0; i < n && !line; i++) {
		Dwarf_Attribute a;
		Dwarf_Word value;
		if (dwarf_tag(&chain[i]) == DW_TAG_subprogram &&
		    dwarf_attr_integrate(&chain[i], DW_AT_decl_line, &a) && !dwarf_formudata(&a, &value))
			line = (int)value;
	}
	free(chain);
	return line;
}

int module_declared(struct module *m, uint64_t address)
{
	gate_close();
	int line = declared(m, address);
	gate_open();
	return line;
}

static uint64_t awaits(struct module *m, uint64_t address)
{
	Dwarf_Die unit, *chain;
	Dwarf_Addr bias;
	uint64_t at = 0;
	int n = scopes_of(m, address, &unit, &bias, &chain);
	for (int i = 0; i < n && !at; i++)
		if (dwarf_tag(&chain[i]) == DW_TAG_subprogram)
			at = awaits_find(&unit, &chain[i]);
	free(chain);
	return at ? at + bias : 0;
}

uint64_t module_awaits(struct module *m, uint64_t address)
{
	gate_close();
	uint64_t at = awaits(m, address);
	gate_open();
	return at;
}

uint64_t module_promise(struct module *m, uint64_t address)
{
	Dwarf_Die unit, *chain;
	Dwarf_Addr bias;
	uint64_t bytes = 0;
	gate_close();
	int n = scopes_of(m, address, &unit, &bias, &chain);
	for (int i = 0; i < n && !bytes; i++)
		if (dwarf_tag(&chain[i]) == DW_TAG_subprogram)
			bytes = awaits_promise(&chain[i]);
	free(chain);
	gate_open();
	return bytes;
}

bool module_owner(const struct module *m, uid_t *owner)
{
	*owner = m->owner;
	return m->owned;
}

const char *module_real_path(const struct module *m)
{
	return m->real_path;
}

bool module_mismatch(const struct module *m)
{
	return m->mismatch;
}

void module_frames_deinit(struct module_frames *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free((char *)f->items[i].symbol);
		free((char *)f->items[i].file);
		free((char *)f->items[i].dir);
	}
	free(f->items);
	*f = (struct module_frames){0};
}
