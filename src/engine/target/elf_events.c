// SPDX-License-Identifier: MIT
//
// Reads the sections `ctp_events` (the descriptors of include/ctp/event.h) and `.note.stapsdt` (USDT: the
// convention of SystemTap, which perf, bpftrace and gdb read as well). What a file says is bounded by its
// sections.
#include "engine/target/elf_events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gelf.h>
#include <libelf.h>

#include <ctp/event.h>

#include "base/grow.h"
#include "engine/target/usdt.h"

enum { NOTE_STAPSDT = 3, TEXT_MOST = 1024 };

static void event_deinit(struct elf_event *e)
{
	free(e->provider);
	free(e->name);
	free(e->fields);
	free(e->file);
	for (size_t i = 0; i < e->n_place; i++)
		free(e->place[i].arguments);
	free(e->place);
}

void elf_events_deinit(struct elf_events *e)
{
	for (size_t i = 0; i < e->n; i++)
		event_deinit(&e->items[i]);
	free(e->items);
	*e = (struct elf_events){0};
}

static bool same(const struct elf_event *a, const struct elf_event *b)
{
	return !strcmp(a->provider, b->provider) && !strcmp(a->name, b->name);
}

static int move_places(struct elf_event *to, struct elf_event *from)
{
	for (; from->n_place; from->n_place--) {
		if (GROW(to->place, to->n_place, to->place_capacity))
			return -ENOMEM;
		to->place[to->n_place++] = from->place[from->n_place - 1];
	}
	return 0;
}

// Takes *e. A USDT probe is one event, however many places there are, and none if the file defines it itself.
static int add(struct elf_events *all, struct elf_event *e)
{
	bool whole = e->provider && e->name && e->fields;
	for (size_t i = 0; whole && i < all->n; i++) {
		struct elf_event *o = &all->items[i];
		bool known = same(o, e) && (e->file ? o->file && !strcmp(o->fields, e->fields) : true);
		if (!known)
			continue;
		if (!o->file && strlen(e->fields) > strlen(o->fields)) { // the most that any place has
			char *more = o->fields;
			o->fields = e->fields;
			e->fields = more;
		}
		o->places += e->places;
		int r = !o->file ? move_places(o, e) : 0;
		event_deinit(e);
		return r;
	}
	if (!whole || GROW(all->items, all->n, all->capacity)) {
		event_deinit(e);
		return -ENOMEM;
	}
	all->items[all->n++] = *e;
	return 0;
}

// The next string of [*at, end). NULL: it does not end there.
static const char *next(const char **at, const char *end)
{
	const char *s = *at, *zero = s < end ? memchr(s, 0, (size_t)(end - s)) : NULL;
	if (zero)
		*at = zero + 1;
	return zero ? s : NULL;
}

static void append(char *buf, const char *a, const char *b, const char *c)
{
	size_t n = strlen(buf);
	snprintf(buf + n, TEXT_MOST - n, "%s%s%s", a, b, c);
}

// ---------------------------------------------------------------- descriptors

static int descriptor(struct elf_events *all, const struct ctp_event_info *d, const char *end)
{
	char fields[TEXT_MOST] = "";
	const char *at = (const char *)(d + 1), *provider = next(&at, end), *name = next(&at, end),
		   *file = next(&at, end);
	for (unsigned i = 0; file && i < d->fields; i++) {
		const char *type = next(&at, end), *field = next(&at, end);
		if (!field)
			return 0;
		bool star = *type && type[strlen(type) - 1] == '*';
		append(fields, i ? ", " : "", type, star ? "" : " ");
		append(fields, field, "", "");
	}
	if (!file)
		return 0;
	return add(all, &(struct elf_event){.provider = strdup(provider),
					    .name = strdup(name),
					    .fields = strdup(fields),
					    .file = strdup(file),
					    .line = d->line});
}

static int read_descriptors(struct elf_events *all, const Elf_Data *data)
{
	const char *bytes = data->d_buf;
	int r = 0;
	for (size_t at = 0; !r && data->d_size >= sizeof(struct ctp_event_info) &&
			    at <= data->d_size - sizeof(struct ctp_event_info);) {
		struct ctp_event_info d;
		memcpy(&d, bytes + at, sizeof(d));
		bool is = !memcmp(d.magic, CTP_EVENT_MAGIC, sizeof(d.magic)) &&
			  d.version == CTP_EVENT_VERSION && d.fields <= CTP_EVENT_FIELDS &&
			  d.bytes >= sizeof(d) && d.bytes <= data->d_size - at;
		if (is)
			r = descriptor(all, (const void *)(bytes + at), bytes + at + d.bytes);
		at += is ? (d.bytes + 7u) & ~7u : 8;
	}
	return r;
}

// ----------------------------------------------------------------------- USDT

// "8@%rdi -4@-4(%rbp)" as types: a size, negative if it has a sign, with an f if it is a float.
static void types_of(const char *arguments, char types[TEXT_MOST])
{
	struct usdt_argument a;
	*types = '\0';
	while (usdt_next(&arguments, &a)) {
		char type[24] = "?";
		if (a.bytes)
			snprintf(type, sizeof(type), "%c%u",
				 a.is_float  ? 'f' :
				 a.is_signed ? 'i' :
					       'u',
				 8u * a.bytes);
		append(types, *types ? ", " : "", type, "");
	}
}

// Where the address lies in the file; 0: not in it.
static uint64_t in_file(Elf *elf, uint64_t address)
{
	GElf_Phdr p;
	size_t n;
	if (elf_getphdrnum(elf, &n))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && address >= p.p_vaddr &&
		    address - p.p_vaddr < p.p_filesz)
			return address - p.p_vaddr + p.p_offset;
	return 0;
}

// The address that notes call their base. 0: the file has none.
static uint64_t base_of(Elf *elf, size_t names)
{
	GElf_Shdr h;
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
		const char *name = gelf_getshdr(s, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;
		if (name && !strcmp(name, ".stapsdt.base"))
			return h.sh_addr;
	}
	return 0;
}

// What a note says: addresses as of when it was linked.
struct note {
	uint64_t at, base, semaphore;
	const char *arguments;
};

static int add_place(struct elf_event *e, Elf *elf, size_t names, const struct note *n)
{
	uint64_t base = base_of(elf, names), moved = base && n->base ? base - n->base : 0;
	struct elf_place p = {.at = in_file(elf, n->at + moved),
			      .semaphore = n->semaphore ? in_file(elf, n->semaphore + moved) : 0};
	if (!p.at || (n->semaphore && !p.semaphore))
		return 0;
	if (!(p.arguments = strdup(n->arguments)))
		return -ENOMEM;
	if (GROW(e->place, e->n_place, e->place_capacity)) {
		free(p.arguments);
		return -ENOMEM;
	}
	e->place[e->n_place++] = p;
	return 0;
}

static int probe(struct elf_events *all, Elf *elf, size_t names, const char *desc, size_t bytes)
{
	size_t address = gelf_getclass(elf) == ELFCLASS32 ? 4 : 8;
	char types[TEXT_MOST];
	const char *at = desc + 3 * address, *end = desc + bytes;
	struct note n = {0};
	if (bytes < 3 * address)
		return 0;
	const char *provider = next(&at, end), *name = next(&at, end);
	n.arguments = next(&at, end);
	n.arguments = n.arguments ? n.arguments : "";
	memcpy(&n.at, desc, address);
	memcpy(&n.base, desc + address, address);
	memcpy(&n.semaphore, desc + 2 * address, address);
	if (!name)
		return 0;
	types_of(n.arguments, types);
	struct elf_event e = {.provider = strdup(provider),
			      .name = strdup(name),
			      .fields = strdup(types),
			      .places = 1,
			      .has_semaphore = n.semaphore != 0};
	int r = add_place(&e, elf, names, &n);
	if (r)
		event_deinit(&e);
	return r ? r : add(all, &e);
}

static int read_probes(struct elf_events *all, Elf *elf, size_t names, Elf_Data *data)
{
	size_t at = 0, next_at, name, desc;
	GElf_Nhdr n;
	int r = 0;
	for (; !r && (next_at = gelf_getnote(data, at, &n, &name, &desc)) > 0; at = next_at) {
		const char *bytes = data->d_buf;
		if (n.n_type == NOTE_STAPSDT && n.n_namesz == 8 && !memcmp(bytes + name, "stapsdt", 8))
			r = probe(all, elf, names, bytes + desc, n.n_descsz);
	}
	return r;
}

// ---------------------------------------------------------------- the sections

static int by_name(const void *a, const void *b)
{
	const struct elf_event *x = a, *y = b;
	int r = strcmp(x->provider, y->provider);
	r = r ? r : strcmp(x->name, y->name);
	return r ? r : strcmp(x->fields, y->fields);
}

// Descriptors first: their USDT notes say the same again.
static int read_sections(struct elf_events *all, Elf *elf, size_t names, bool probes)
{
	int r = 0;
	for (Elf_Scn *s = NULL; !r && (s = elf_nextscn(elf, s));) {
		GElf_Shdr h;
		const char *name = gelf_getshdr(s, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;
		if (!name || h.sh_type == SHT_NOBITS)
			continue;
		Elf_Data *data = NULL;
		if (!probes && !strcmp(name, "ctp_events") && (data = elf_rawdata(s, NULL)) && data->d_buf)
			r = read_descriptors(all, data);
		if (probes && h.sh_type == SHT_NOTE && !strcmp(name, ".note.stapsdt") &&
		    (data = elf_getdata(s, NULL)) && data->d_buf)
			r = read_probes(all, elf, names, data);
	}
	return r;
}

int elf_events_read(struct elf_events *e, int fd)
{
	size_t names;
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	int r = elf && elf_kind(elf) == ELF_K_ELF && !elf_getshdrstrndx(elf, &names) ? 0 : -ENOEXEC;
	GElf_Ehdr h;
#ifdef __x86_64__
	const int machine = EM_X86_64;
#else
	const int machine = EM_AARCH64;
#endif
	e->native = !r && gelf_getehdr(elf, &h) && h.e_machine == machine &&
		    h.e_ident[EI_CLASS] == ELFCLASS64;
	r = r ? r : read_sections(e, elf, names, false);
	r = r ? r : read_sections(e, elf, names, true);
	elf_end(elf);
	if (e->n)
		qsort(e->items, e->n, sizeof(*e->items), by_name);
	return r;
}
