// SPDX-License-Identifier: MIT
//
// libctp.so sees a switch if it is a call that the loader binds: such functions are among
// a file's dynamic imports. A file that contains the switch function itself, or a runtime
// with an assembly routine of its own, is known by the symbols that it defines. A file
// without symbols shows neither. Files are the target's: their contents are not trusted,
// and oversized tables are not read.
#include "engine/coverage/switch_signatures.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <gelf.h>
#include <libelf.h>

#define SYMBOLS_MOST_BYTES (24 << 20) // a million symbols
#define NAMES_MOST_BYTES (256 << 20)
#define BEGINNINGS 4096 // a hash

// Those of preload/guest/hooks.def that exist for switching; half the world calls
// longjmp, and hardly ever to leave its stack.
static const struct function {
	const char *name;
	bool switches; // and does not only prepare
} functions[] = {
	{"swapcontext", true},   {"setcontext", true},     {"makecontext", false},   {"getcontext", false},
	{"jump_fcontext", true}, {"ontop_fcontext", true}, {"make_fcontext", false},
};
#define N_FUNCTIONS (sizeof(functions) / sizeof(*functions))

// Runtimes by a symbol, or the name of a section, that only they define. None begins with _Z, nor is shorter
// than three characters, so that nearly all names are passed over quickly (beginning()).
static const struct runtime {
	const char *symbol, *what;
	const char *without; // its import if it was built without assembly, and is seen then
	bool begins;         // the symbol goes on
	bool patchable;      // libctp.so knows some versions of its code (preload/patch/switchers.def)
} runtimes[] = {
	{"zend_fiber_switch_context", "PHP fibers", "swapcontext", false, true},
	{"coroutine_transfer", "Ruby fibers", NULL, false, true},
	{"PyInit__greenlet", "Python greenlets", NULL, false, true},
	{"coro_transfer", "libcoro", NULL, false, true},
	{"fiber_switchContext", "D fibers", "swapcontext", false, true},
	{".gopclntab", "goroutines", NULL, false, false},      // a section that strip leaves there
	{"runtime.kickoff", "goroutines", NULL, false, false}, // gccgo
	{"*Fiber::swapcontext<", "Crystal fibers", NULL, true, true},
	{"st_thread_create", "State Threads", NULL, false, true},
	{"coctx_swap", "Tencent libco", NULL, false, true},
	{"co_switch", "libco", "swapcontext", false, true},
	{"acosw", "libaco", NULL, false, true},
	{"dill_prologue", "libdill", "siglongjmp", false, false},
	{"mill_resume", "libmill", "siglongjmp", false, false},
	{"libgo_jump_fcontext", "libgo", NULL, false, false},
	{"tb_context_jump", "tbox or coost coroutines", NULL, false, false},
	{"_photon_switch_context", "Photon", NULL, false, false},
	{"bthread_jump_fcontext", "bthreads", NULL, false, true},
	{"marl_fiber_swap", "marl fibers", NULL, false, true},
};
#define N_RUNTIMES (sizeof(runtimes) / sizeof(*runtimes))

_Static_assert(N_FUNCTIONS <= 32 && N_RUNTIMES <= 32, "a bit for each");

const char *switch_signatures_function(unsigned i)
{
	return i < N_FUNCTIONS ? functions[i].name : NULL;
}

const char *switch_signatures_symbol(unsigned i)
{
	return i < N_RUNTIMES ? runtimes[i].symbol : NULL;
}

const char *switch_signatures_runtime(unsigned i)
{
	return i < N_RUNTIMES ? runtimes[i].what : NULL;
}

unsigned switch_signatures_patchable(void)
{
	unsigned bits = 0;
	for (unsigned i = 0; i < N_RUNTIMES; i++)
		bits |= (unsigned)runtimes[i].patchable << i;
	return bits;
}

struct reading {
	Elf *elf;
	bool program;                     // its own definitions come before those of any library
	bool symbolic;                    // a library that binds to itself first
	uint64_t begins[BEGINNINGS / 64]; // a bit for what the names that are looked for begin with
	unsigned imports, exports, own;   // functions
	unsigned known, without;          // runtimes
};

// Of the first three characters, as many as there are. Names with another one are passed over quickly.
static unsigned beginning(const char *name)
{
	const unsigned char *c = (const unsigned char *)name;
	unsigned h = c[0];
	for (unsigned i = 0; i < 2 && c[i]; i++)
		h = h * 31 + c[i + 1];
	return h % BEGINNINGS;
}

static void wanted(struct reading *r, const char *name)
{
	unsigned at = beginning(name);
	r->begins[at / 64] |= 1ULL << at % 64;
}

static bool is_wanted(const struct reading *r, const char *name)
{
	unsigned at = beginning(name);
	return r->begins[at / 64] >> at % 64 & 1;
}

static void begin(struct reading *r)
{
	for (size_t i = 0; i < N_FUNCTIONS; i++)
		wanted(r, functions[i].name);
	for (size_t i = 0; i < N_RUNTIMES; i++) {
		wanted(r, runtimes[i].symbol);
		if (runtimes[i].without)
			wanted(r, runtimes[i].without);
	}
}

static void note_import(struct reading *r, const char *name)
{
	for (unsigned i = 0; i < N_FUNCTIONS; i++)
		if (!strcmp(name, functions[i].name))
			r->imports |= 1U << i;
	for (unsigned i = 0; i < N_RUNTIMES; i++)
		if (runtimes[i].without && !strcmp(name, runtimes[i].without))
			r->without |= 1U << i;
}

static void note_runtime(struct reading *r, const char *name)
{
	for (unsigned i = 0; i < N_RUNTIMES; i++) {
		const struct runtime *t = &runtimes[i];
		if (t->begins ? !strncmp(name, t->symbol, strlen(t->symbol)) : !strcmp(name, t->symbol))
			r->known |= 1U << i;
	}
}

static void note_definition(struct reading *r, const GElf_Sym *sym, const char *name, bool dynamic)
{
	bool local = GELF_ST_BIND(sym->st_info) == STB_LOCAL ||
		     GELF_ST_VISIBILITY(sym->st_other) != STV_DEFAULT;
	for (unsigned i = 0; i < N_FUNCTIONS; i++) {
		if (strcmp(name, functions[i].name) || !functions[i].switches)
			continue;
		if (local || r->program || r->symbolic)
			r->own |= 1U << i;
		else if (dynamic)
			r->exports |= 1U << i;
	}
	note_runtime(r, name);
}

// The names of a symbol table, NUL at the end; NULL if they are not to be had.
static const char *names(struct reading *r, size_t section, size_t *bytes)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elf_getscn(r->elf, section);
	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_type != SHT_STRTAB || sh.sh_size > NAMES_MOST_BYTES)
		return NULL;
	const Elf_Data *d = elf_getdata(scn, NULL);
	const char *text = d ? d->d_buf : NULL;
	*bytes = d ? d->d_size : 0;
	return text && *bytes && !text[*bytes - 1] ? text : NULL;
}

static int read_symbols(struct reading *r, Elf_Scn *scn, const GElf_Shdr *sh)
{
	size_t bytes;
	GElf_Sym sym;
	if (sh->sh_size > SYMBOLS_MOST_BYTES)
		return -EFBIG;
	const char *text = names(r, sh->sh_link, &bytes);
	Elf_Data *data = text ? elf_getdata(scn, NULL) : NULL;
	if (!data)
		return -ENOEXEC;
	bool dynamic = sh->sh_type == SHT_DYNSYM;
	for (int i = 0; gelf_getsym(data, i, &sym); i++) {
		const char *name = text + sym.st_name;
		if (sym.st_name >= bytes || !is_wanted(r, name))
			continue;
		if (sym.st_shndx != SHN_UNDEF)
			note_definition(r, &sym, name, dynamic);
		else if (dynamic)
			note_import(r, name);
	}
	return 0;
}

static void read_dynamic(struct reading *r, Elf_Scn *scn, const GElf_Shdr *sh)
{
	GElf_Dyn dyn;
	Elf_Data *data = sh->sh_size > SYMBOLS_MOST_BYTES ? NULL : elf_getdata(scn, NULL);
	for (int i = 0; data && gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL; i++) {
		uint64_t v = dyn.d_un.d_val;
		r->program |= dyn.d_tag == DT_DEBUG || (dyn.d_tag == DT_FLAGS_1 && v & DF_1_PIE);
		r->symbolic |= dyn.d_tag == DT_SYMBOLIC || (dyn.d_tag == DT_FLAGS && v & DF_SYMBOLIC);
	}
}

static void read_section_names(struct reading *r, size_t strings)
{
	GElf_Shdr sh;
	size_t bytes;
	const char *text = names(r, strings, &bytes);
	for (Elf_Scn *s = NULL; text && (s = elf_nextscn(r->elf, s));)
		if (gelf_getshdr(s, &sh) && sh.sh_name < bytes)
			note_runtime(r, text + sh.sh_name);
}

// Runs through the sections of this type. 0 or the worst -errno.
static int each(struct reading *r, unsigned type)
{
	GElf_Shdr sh;
	int worst = 0, e;
	for (Elf_Scn *s = NULL; (s = elf_nextscn(r->elf, s));) {
		if (!gelf_getshdr(s, &sh) || sh.sh_type != type)
			continue;
		if (type == SHT_DYNAMIC)
			read_dynamic(r, s, &sh);
		else if ((e = read_symbols(r, s, &sh)))
			worst = e;
	}
	return worst;
}

static int read_elf(struct reading *r)
{
	GElf_Ehdr eh;
	size_t n;
	if (elf_kind(r->elf) != ELF_K_ELF || !gelf_getehdr(r->elf, &eh) || elf_getshdrnum(r->elf, &n) ||
	    n == 0)
		return -ENOEXEC;
	r->program = eh.e_type == ET_EXEC;
	read_section_names(r, eh.e_shstrndx);
	each(r, SHT_DYNAMIC);
	int dynamic = each(r, SHT_DYNSYM), all = each(r, SHT_SYMTAB);
	return dynamic ? dynamic : all;
}

// libelf makes room for as many sections as a file says it has: more than a
// linker makes, told by another field, is a file that was made for us.
static int look_at_head(int fd)
{
	Elf64_Ehdr head;
	ssize_t n = pread(fd, &head, sizeof(head), 0);
	if (n < 0)
		return -errno;
	if (n < (ssize_t)sizeof(head) || memcmp(head.e_ident, ELFMAG, SELFMAG))
		return 1;
	return head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_shnum ? 0 : -ENOEXEC;
}

int switch_signatures_read(struct switch_signatures *out, int fd)
{
	struct reading r = {0};
	int e = look_at_head(fd);
	if (e)
		return e;
	begin(&r);
	elf_version(EV_CURRENT);
	r.elf = elf_begin(fd, ELF_C_READ, NULL);
	e = r.elf ? read_elf(&r) : -ENOEXEC;
	elf_end(r.elf);
	*out = (struct switch_signatures){r.imports, r.own & ~r.exports, r.exports, r.known & ~r.without};
	return e;
}
