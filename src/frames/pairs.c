// SPDX-License-Identifier: MIT
//
// GCC makes X.actor and X.destroy of a coroutine X, Clang X.resume, X.destroy and X.cleanup, all local to
// their object file. Two object files may have an X each: symbols of one are neighbours in the table. GCC 12
// names them for the frame's type, in which the function's name stands once more.
#include "frames/pairs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/search.h"
#include "frames/stripped.h"

enum { SYMBOLS_MOST = 1 << 24, BUILD_ID_MOST = 64, NAME_MOST = 1 << 16 };

enum part { ACTOR, RESUME, DESTROY, CLEANUP, COLD, RAMP };

struct piece {
	char *base; // name without what tells the part
	enum part part;
	uint64_t at, bytes;
	size_t where; // in the table
};

struct reading {
	struct piece *v;
	size_t n, room;
	uint64_t bias;
	bool failed;
};

// ------------------------------------------------------------------- symbols

static const struct {
	const char *text;
	enum part part;
} PARTS[] = {{".actor", ACTOR}, {".resume", RESUME}, {".destroy", DESTROY}, {".cleanup", CLEANUP}};

// Which part the symbol names, and how much of it is the base. False: none of a coroutine.
static bool part_of(const char *name, size_t *base, enum part *part)
{
	for (size_t i = 0; i < sizeof(PARTS) / sizeof(*PARTS); i++) {
		const char *at = strstr(name, PARTS[i].text), *next;
		if (!at)
			continue;
		while ((next = strstr(at + 1, PARTS[i].text)))
			at = next;
		const char *rest = at + strlen(PARTS[i].text);
		*base = (size_t)(at - name);
		*part = strstr(rest, ".cold") ? COLD : PARTS[i].part;
		// what the compiler made of it: .cold, .lto_priv.0, .constprop.0, .part.0, .llvm.1
		return *base && (!*rest || *rest == '.') && !strstr(rest, ".part.") &&
		       (*part != COLD || PARTS[i].part == ACTOR || PARTS[i].part == RESUME);
	}
	return false;
}

// "_Z4leafPZ4leafiE14_Z4leafi.Frame" has the function's own name in that of its frame's type.
static char *function_name(const char *base, size_t n)
{
	static const char frame[] = ".Frame";
	size_t end = n - (sizeof(frame) - 1);
	if (n <= sizeof(frame) || memcmp(base + end, frame, sizeof(frame) - 1))
		return strndup(base, n);
	for (size_t i = end; i-- > 0;) {
		size_t digits = i, length = 0;
		if (!isdigit((unsigned char)base[i]) || (i + 1 < end && isdigit((unsigned char)base[i + 1])))
			continue;
		while (digits && isdigit((unsigned char)base[digits - 1]))
			digits--;
		for (; digits <= i; digits++) { // the number may follow other digits
			length = strtoul(base + digits, NULL, 10);
			if (length == n - (i + 1))
				return strndup(base + i + 1, end - (i + 1));
		}
	}
	return strndup(base, n);
}

static void note(struct reading *r, const char *name, size_t base, enum part part, const GElf_Sym *sym,
		 size_t where)
{
	if (GROW(r->v, r->n, r->room)) {
		r->failed = true;
		return;
	}
	char *copy = part == RAMP ? strdup(name) : function_name(name, base);
	if (!copy) {
		r->failed = true;
		return;
	}
	r->v[r->n++] = (struct piece){copy, part, sym->st_value + r->bias, sym->st_size, where};
}

static int by_name(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;
	int c = strcmp(x->base, y->base);
	return c ? c : x->where < y->where ? -1 : x->where > y->where;
}

static bool is_coroutine(const struct reading *r, size_t n, const char *name)
{
	size_t i = FIRST_NOT(n, k, strcmp(r->v[k].base, name) < 0);
	return i < n && !strcmp(r->v[i].base, name);
}

// Every pair has one of these parts. Most objects have neither, which their names tell at once.
static bool names_have_pairs(Elf *elf, const GElf_Shdr *head)
{
	Elf_Scn *section = elf_getscn(elf, head->sh_link);
	Elf_Data *names = section ? elf_getdata(section, NULL) : NULL;
	const char *p = names ? names->d_buf : NULL, *end = p ? p + names->d_size : NULL;
	for (; p && (p = memchr(p, '.', (size_t)(end - p))) && end - p >= 8; p++)
		if (!memcmp(p, ".destroy", 8) || !memcmp(p, ".cleanup", 8))
			return true;
	return false;
}

// Twice through the table: the parts, and the ramps of those that have parts.
static void read_table(struct reading *r, Elf *elf, Elf_Scn *section, const GElf_Shdr *head)
{
	if (!names_have_pairs(elf, head))
		return;
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = data && head->sh_entsize ? data->d_size / head->sh_entsize : 0;
	GElf_Sym sym;
	for (int ramps = 0; ramps < 2; ramps++) {
		size_t had = r->n;
		if (ramps && had)
			qsort(r->v, had, sizeof(*r->v), by_name);
		for (size_t i = 0; i < n && i < SYMBOLS_MOST && !r->failed && (had || !ramps); i++) {
			size_t base;
			enum part part;
			if (!gelf_getsym(data, (int)i, &sym) || GELF_ST_TYPE(sym.st_info) != STT_FUNC ||
			    !sym.st_value)
				continue;
			const char *name = elf_strptr(elf, head->sh_link, sym.st_name);
			if (!name || strnlen(name, NAME_MOST) == NAME_MOST)
				continue;
			bool is_part = part_of(name, &base, &part);
			if (!ramps && is_part)
				note(r, name, base, part, &sym, i);
			else if (ramps && !is_part && is_coroutine(r, had, name))
				note(r, name, 0, RAMP, &sym, i);
		}
	}
}

static Elf_Scn *symbol_table(Elf *elf, GElf_Shdr *head)
{
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));)
		if (gelf_getshdr(s, head) && head->sh_type == SHT_SYMTAB && head->sh_size)
			return s;
	return NULL;
}

// ---------------------------------------------------------------------- pairs

static uint64_t distance(const struct piece *a, const struct piece *b)
{
	return a->where > b->where ? a->where - b->where : b->where - a->where;
}

// Of the pieces of one name, [first, end), the one of this kind that stands nearest in the table.
static const struct piece *nearest(const struct reading *r, size_t first, size_t end, const struct piece *to,
				   enum part part)
{
	const struct piece *best = NULL;
	for (size_t i = first; i < end; i++)
		if (r->v[i].part == part && (!best || distance(&r->v[i], to) < distance(best, to)))
			best = &r->v[i];
	return best;
}

static int add_pair(struct pairs *p, const struct pair *pair, const struct piece *destroy, bool elided)
{
	int e = destroy ? GROW(p->v, p->n, p->room) : 0;
	if (e || !destroy)
		return e;
	p->v[p->n] = *pair;
	p->v[p->n].destroy = destroy->at;
	p->v[p->n].destroy_bytes = destroy->bytes;
	p->v[p->n++].elided = elided;
	return 0;
}

static void add_code(struct pair *p, const struct piece *of)
{
	if (of && of->bytes && p->ncodes < PAIR_CODES)
		p->codes[p->ncodes++] = (struct pair_code){of->at, of->bytes};
}

static int add_function(struct pairs *p, const struct reading *r, size_t first, size_t end, uint32_t module)
{
	int e = 0;
	const char *symbol = NULL;
	for (size_t i = first; i < end && !e; i++) {
		const struct piece *resume = &r->v[i];
		if (resume->part != ACTOR && resume->part != RESUME)
			continue;
		if (!symbol) {
			e = GROW(p->symbols, p->nsymbols, p->symbols_room);
			char *copy = e ? NULL : strdup(resume->base);
			if (!copy)
				return -ENOMEM;
			symbol = p->symbols[p->nsymbols++] = copy;
		}
		struct pair pair = {.resume = resume->at,
				    .symbol = symbol,
				    .maker = resume->part == ACTOR ? PAIR_GCC : PAIR_CLANG,
				    .module = module};
		add_code(&pair, resume);
		add_code(&pair, nearest(r, first, end, resume, RAMP));
		add_code(&pair, nearest(r, first, end, resume, COLD));
		e = add_pair(p, &pair, nearest(r, first, end, resume, DESTROY), false);
		if (!e && resume->part == RESUME)
			e = add_pair(p, &pair, nearest(r, first, end, resume, CLEANUP), true);
	}
	return e;
}

static int pair_up(struct pairs *p, struct reading *r, uint32_t module)
{
	int e = r->failed ? -ENOMEM : 0;
	if (r->n)
		qsort(r->v, r->n, sizeof(*r->v), by_name);
	for (size_t i = 0, end; i < r->n && !e; i = end) {
		for (end = i + 1; end < r->n && !strcmp(r->v[i].base, r->v[end].base);)
			end++;
		e = add_function(p, r, i, end, module);
	}
	return e;
}

// ---------------------------------------------------------------------- files

static bool find_bias(Elf *elf, const struct pairs_module *m, uint64_t *bias)
{
	size_t n;
	GElf_Phdr h;
	if (elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &h) && h.p_type == PT_LOAD && h.p_filesz &&
		    m->offset >= (h.p_offset & ~4095ULL) && m->offset < h.p_offset + h.p_filesz) {
			*bias = m->start - (h.p_vaddr - h.p_offset + m->offset);
			return true;
		}
	return false;
}

static size_t build_id(Elf *elf, uint8_t *out)
{
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
		GElf_Shdr head;
		GElf_Nhdr note;
		size_t name, at = 0, next, desc;
		Elf_Data *d = gelf_getshdr(s, &head) && head.sh_type == SHT_NOTE ? elf_getdata(s, NULL) :
										   NULL;
		for (; d && (next = gelf_getnote(d, at, &note, &name, &desc)); at = next)
			if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz &&
			    note.n_descsz <= BUILD_ID_MOST && !memcmp((char *)d->d_buf + name, "GNU", 4)) {
				memcpy(out, (char *)d->d_buf + desc, note.n_descsz);
				return note.n_descsz;
			}
	}
	return 0;
}

// Opens a debug file, if it is of the same build.
static Elf *open_debug(const char *path, const uint8_t *id, size_t n, int *fd)
{
	uint8_t its[BUILD_ID_MOST];
	*fd = file_open(AT_FDCWD, path, 0);
	Elf *elf = *fd < 0 ? NULL : elf_begin(*fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF && build_id(elf, its) == n && !memcmp(its, id, n))
		return elf;
	elf_end(elf);
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return NULL;
}

static const char *debug_link(Elf *elf)
{
	size_t names;
	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
		GElf_Shdr head;
		const char *name = gelf_getshdr(s, &head) ? elf_strptr(elf, names, head.sh_name) : NULL;
		Elf_Data *d = name && !strcmp(name, ".gnu_debuglink") ? elf_getdata(s, NULL) : NULL;
		if (d && d->d_size && memchr(d->d_buf, 0, d->d_size) && !strchr(d->d_buf, '/'))
			return d->d_buf;
	}
	return NULL;
}

// Where its package or its builder put it: below /usr/lib/debug by build id, or beside the file.
static Elf *find_debug(Elf *elf, const char *path, int *fd)
{
	uint8_t id[BUILD_ID_MOST];
	char where[4200], hex[2 * BUILD_ID_MOST + 1] = "";
	size_t n = build_id(elf, id);
	if (!n)
		return NULL;
	for (size_t i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	snprintf(where, sizeof(where), "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
	Elf *found = open_debug(where, id, n, fd);
	const char *link = found || !path ? NULL : debug_link(elf);
	static const char *const BESIDE[] = {"", ".debug/"};
	int folder = link ? (int)(file_base(path) - path) : 0;
	for (size_t i = 0; link && !found && i < 2; i++)
		if (snprintf(where, sizeof(where), "%.*s%s%s", folder, path, BESIDE[i], link) <
		    (int)sizeof(where))
			found = open_debug(where, id, n, fd);
	if (link && !found &&
	    snprintf(where, sizeof(where), "/usr/lib/debug%.*s%s", folder, path, link) < (int)sizeof(where))
		found = open_debug(where, id, n, fd);
	return found;
}

static int read_elf(struct pairs *p, Elf *elf, const struct pairs_module *m, bool *named)
{
	struct reading r = {0};
	GElf_Shdr head;
	int debug_fd = -1;
	Elf *debug = NULL;
	if (elf_kind(elf) != ELF_K_ELF || gelf_getclass(elf) != ELFCLASS64 || !find_bias(elf, m, &r.bias))
		return -ENOEXEC;
	Elf_Scn *table = symbol_table(elf, &head);
	if (!table && (debug = find_debug(elf, m->path, &debug_fd)))
		table = symbol_table(debug, &head);
	*named = table;
	if (table)
		read_table(&r, debug ? debug : elf, table, &head);
	int e = pair_up(p, &r, m->number);
	if (!e && !table && m->by_code)
		e = stripped_add(p, elf, m, r.bias);
	for (size_t i = 0; i < r.n; i++)
		free(r.v[i].base);
	free(r.v);
	elf_end(debug);
	if (debug_fd >= 0)
		close(debug_fd);
	return e;
}

int pairs_add(struct pairs *p, const struct pairs_module *m, bool *named)
{
	*named = false;
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(m->fd, ELF_C_READ, NULL);
	if (!elf)
		return -ENOEXEC;
	int e = read_elf(p, elf, m, named);
	elf_end(elf);
	return e;
}

// --------------------------------------------------------------------- lookup

static int by_words(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	if (x->destroy != y->destroy)
		return x->destroy < y->destroy ? -1 : 1;
	return x->resume < y->resume ? -1 : x->resume > y->resume;
}

void pairs_sort(struct pairs *p)
{
	if (p->n)
		qsort(p->v, p->n, sizeof(*p->v), by_words);
}

const struct pair *pairs_find(const struct pairs *p, uint64_t resume, uint64_t destroy, size_t *same)
{
	const struct pair key = {.resume = resume, .destroy = destroy};
	size_t i = FIRST_NOT(p->n, k, by_words(&p->v[k], &key) < 0), end = i;
	while (end < p->n && p->v[end].destroy == destroy && (!resume || p->v[end].resume == resume))
		end++;
	*same = end - i;
	return end > i ? &p->v[i] : NULL;
}

void pairs_deinit(struct pairs *p)
{
	for (size_t i = 0; i < p->nsymbols; i++)
		free(p->symbols[i]);
	free(p->symbols);
	free(p->v);
	*p = (struct pairs){0};
}
