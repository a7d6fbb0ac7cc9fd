// SPDX-License-Identifier: MIT
//
// A sample is taken apart at once, and waits until the rings of its process have been emptied: then all
// switches before it are known. Samples of two CPUs come in no order, so only those from before the last
// look at the buffers began are placed.
#include "engine/uprobes/uprobes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/living.h"
#include "engine/target/log.h"
#include "engine/uprobes/pmu.h"

#define SLACK_NS 50000 // by how much the kernel's clock and ours may differ
#define LOOK_NS 1000000000ULL
enum {
	STACK_LEAST = 2048, // of a frame whose base is another register than the stack pointer
	STACK_MOST = 32768,
	PENDING_MOST = 400000,
	PACKET_EVENTS = 4096,
	EVENT_BYTES = 4 + 8 + 8 + 8 * CTP_EVENT_ROW_FIELDS,
};

struct place {
	const struct event_class *class;
	unsigned n;
	bool tells; // which of them could not be read, as its last field
	struct usdt_argument arguments[USDT_ARGUMENTS];
};

struct met {
	uint32_t pid, tid;
	uint64_t ns, sp;
	uint32_t place;
	uint16_t unread; // arguments, by bit
	uint64_t values[USDT_ARGUMENTS];
};

struct file {
	uint64_t device, inode;
};

struct uprobes {
	struct recorder *recorder;
	const struct event_list *events;
	const char *why_not;
	char why[128];
	struct pmu *pmu;
	bool refused; // it was said
	struct file *files;
	size_t n_files, files_capacity;
	struct place *places; // as pmu numbers them
	size_t n_places, places_capacity;
	struct met *met;
	size_t n, capacity;
	uint64_t until_ns;         // when the last look at the buffers began
	uint64_t turn_ns, look_ns; // of the last turn; when modules are looked for next
	uint64_t lost;             // there was no memory
	uint64_t lost_told;        // of all that was lost, in the trace
	unsigned char packet[PACKET_EVENTS * EVENT_BYTES];
};

struct uprobes *uprobes_new(struct recorder *r, const struct event_list *l, const char *why_not)
{
	if (!event_list_names_any(l))
		return NULL;
	struct uprobes *u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	u->recorder = r;
	u->events = l;
	u->why_not = why_not;
	if (!why_not && !(u->pmu = pmu_new(u->why, sizeof(u->why))))
		u->why_not = u->why;
	return u;
}

void uprobes_free(struct uprobes *u)
{
	if (!u)
		return;
	pmu_free(u->pmu);
	free(u->files);
	free(u->places);
	free(u->met);
	free(u);
}

uint64_t uprobes_lost(const struct uprobes *u)
{
	return u ? u->lost + (u->pmu ? pmu_lost(u->pmu) : 0) : 0;
}

// ----------------------------------------------------------------- breakpoints

static void refuse(struct uprobes *u, const char *provider, const char *why)
{
	char text[256];
	if (u->refused)
		return;
	u->refused = true;
	snprintf(text, sizeof(text), "USDT probes that --events names (%.40s) are not recorded: %s", provider,
		 why);
	log_line(LOG_SAY, "%s; all else is", text);
	recorder_cover(u->recorder, text);
}

static const char *const names[] = {"arg0", "arg1", "arg2", "arg3", "arg4",  "arg5",
				    "arg6", "arg7", "arg8", "arg9", "arg10", "arg11"};

static struct event_field field_of(const struct usdt_argument *a, unsigned number)
{
	static const char *const types[3][9] = {{[1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64"},
						{[1] = "i8", [2] = "i16", [4] = "i32", [8] = "i64"},
						{[4] = "f32", [8] = "f64"}};
	unsigned kind = a->is_float ? 2 : a->is_signed;
	static const uint8_t kinds[] = {CTP_FIELD_UNSIGNED, CTP_FIELD_SIGNED, CTP_FIELD_FLOAT};
	return (struct event_field){
		.type = types[kind][a->bytes], .name = names[number], .kind = kinds[kind], .bytes = a->bytes};
}

// A sample can tell what it is worth.
static bool is_told(const struct usdt_argument *a)
{
	return a->bytes && a->operand != USDT_UNKNOWN && (!a->is_float || a->bytes >= 4);
}

// What a sample of this place is, as an event, and what is to be asked for.
static void describe(struct place *p, const char *text, struct pmu_place *ask, struct event_field *fields,
		     unsigned *n)
{
	struct usdt_argument a;
	size_t depth = 0;
	*n = 0;
	for (unsigned number = 0; number < USDT_ARGUMENTS && usdt_next(&text, &a); number++) {
		p->arguments[p->n++] = a;
		if (!is_told(&a) || *n + 1 >= CTP_EVENT_ROW_FIELDS) {
			p->arguments[number].operand = USDT_UNKNOWN;
			continue;
		}
		size_t d = usdt_depth(&a);
		p->tells |= d != 0;
		d = d == SIZE_MAX ? STACK_LEAST : d;
		depth = depth > d ? depth : d;
		ask->regs |= usdt_registers(&a);
		fields[(*n)++] = field_of(&a, number);
	}
	if (p->tells)
		fields[(*n)++] = (struct event_field){
			.type = "u16", .name = "unread", .kind = CTP_FIELD_UNSIGNED, .bytes = 2};
	ask->stack_bytes = (uint32_t)((depth < STACK_MOST ? depth : STACK_MOST) + 7) & ~7u;
}

// 0 or -errno, as pmu_add.
static int add_place(struct uprobes *u, const char *path, const char *shown, const struct elf_event *e,
		     const struct elf_place *at)
{
	struct pmu_place ask = {.path = path, .at = at->at, .semaphore = at->semaphore};
	struct place p = {0};
	struct event_field fields[CTP_EVENT_ROW_FIELDS];
	unsigned n;
	describe(&p, at->arguments, &ask, fields, &n);
	p.class = event_classes_usdt(&u->recorder->classes, e->provider, e->name, shown, fields, n);
	if (!p.class)
		return -EINVAL;
	if (GROW(u->places, u->n_places, u->places_capacity))
		return -ENOMEM;
	int r = pmu_add(u->pmu, &ask);
	if (r < 0)
		return r;
	u->places[u->n_places++] = p;
	return 0;
}

static bool ends_all(int r)
{
	return r == -EACCES || r == -EPERM || r == -EMFILE || r == -ENFILE;
}

// path: for the kernel; shown: for people.
static void add_file(struct uprobes *u, int fd, const char *path, const char *shown)
{
	struct elf_events all = {0};
	unsigned set = 0, failed = 0;
	int r = elf_events_read(&all, fd), why = 0;
	for (size_t i = 0; !r && i < all.n; i++) {
		const struct elf_event *e = &all.items[i];
		if (e->file || !event_list_names(u->events, e->provider, e->name))
			continue;
		event_list_found(u->events, e->provider, e->name);
		if (!all.native)
			u->why_not = u->why_not ? u->why_not : "the program is for another machine";
		if (u->why_not) {
			refuse(u, e->provider, u->why_not);
			continue;
		}
		for (size_t k = 0; k < e->n_place && !ends_all(why); k++) {
			int one = add_place(u, path, shown, e, &e->place[k]);
			set += !one;
			failed += one != 0;
			why = one ? one : why;
		}
		if (ends_all(why))
			refuse(u, e->provider, pmu_why(why));
	}
	if (set)
		log_line(LOG_MORE, "%u places of USDT probes in %s are recorded as uprobes", set, shown);
	if (failed && !ends_all(why))
		log_line(LOG_SAY, "%u places of USDT probes in %s are not recorded: %s", failed, shown,
			 pmu_why(why));
	elf_events_deinit(&all);
}

static void look_at(struct uprobes *u, const char *path, const char *shown)
{
	struct stat st;
	int fd = file_open(AT_FDCWD, path, 0);
	bool is_new = fd >= 0 && !fstat(fd, &st);
	for (size_t i = 0; is_new && i < u->n_files; i++)
		is_new = u->files[i].device != st.st_dev || u->files[i].inode != st.st_ino;
	if (is_new && !GROW(u->files, u->n_files, u->files_capacity)) {
		u->files[u->n_files++] = (struct file){st.st_dev, st.st_ino};
		add_file(u, fd, path, shown);
	}
	if (fd >= 0)
		close(fd);
}

void uprobes_program(struct uprobes *u, const char *path)
{
	struct code_files m = {0};
	int fd = u ? file_open(AT_FDCWD, path, 0) : -1;
	if (fd < 0)
		return;
	if (!code_files_of_program(&m, fd, path))
		for (size_t i = 0; i < m.n; i++)
			look_at(u, m.paths[i], m.paths[i]);
	code_files_deinit(&m);
	close(fd);
}

void uprobes_process(struct uprobes *u, pid_t pid)
{
	struct code_files m = {0};
	if (u && !code_files_of_process(&m, pid)) {
		for (size_t i = 0; i < m.n; i++) {
			char path[4200];
			snprintf(path, sizeof(path), "/proc/%d/root%s", (int)living_of(pid), m.paths[i]);
			look_at(u, path, m.paths[i]);
		}
	}
	code_files_deinit(&m);
}

void uprobes_try(const char *path, const struct elf_place *place, char *why, size_t bytes)
{
	struct pmu *p = pmu_new(why, bytes);
	if (!p)
		return;
	int r = pmu_try(p, &(struct pmu_place){.path = path, .at = place->at, .semaphore = place->semaphore});
	snprintf(why, bytes, "%s", r ? pmu_why(r) : "");
	pmu_free(p);
}

void uprobes_describe(const struct elf_event *e, bool native, const char *refused, char *out, size_t bytes)
{
	uint32_t left_out = 0;
	struct usdt_argument a;
	for (size_t i = 0; i < e->n_place; i++) {
		const char *at = e->place[i].arguments;
		for (unsigned n = 0; n < USDT_ARGUMENTS && usdt_next(&at, &a); n++)
			left_out |= is_told(&a) ? 0 : 1u << n;
	}
	if (!native || *refused || !e->n_place) {
		snprintf(out, bytes, "not recorded: %s",
			 !native  ? "it is for another machine" :
			 *refused ? refused :
				    "it does not lie in the file");
		return;
	}
	int n = snprintf(out, bytes, "recorded as uprobe");
	for (unsigned i = 0; i < USDT_ARGUMENTS; i++)
		if (left_out >> i & 1 && n < (int)bytes)
			n += snprintf(out + n, bytes - (size_t)n, "%s arg%u",
				      left_out & ((1u << i) - 1) ? "," : " without", i);
}

// --------------------------------------------------------------------- samples

static void keep(void *arg, const struct pmu_sample *s)
{
	struct uprobes *u = arg;
	const struct place *p = &u->places[s->place];
	if (u->n >= PENDING_MOST || GROW(u->met, u->n, u->capacity)) {
		u->lost++;
		return;
	}
	struct met *m = &u->met[u->n++];
	*m = (struct met){
		.pid = s->pid, .tid = s->tid, .ns = s->ns, .sp = s->state.regs[USDT_SP], .place = s->place};
	for (unsigned i = 0; i < p->n; i++)
		if (p->arguments[i].operand != USDT_UNKNOWN &&
		    !usdt_value(&p->arguments[i], &s->state, &m->values[i]))
			m->unread |= (uint16_t)(1u << i);
}

static bool drain(struct uprobes *u, uint64_t now_ns)
{
	u->until_ns = now_ns;
	return u->pmu && pmu_read(u->pmu, keep, u);
}

bool uprobes_drain(struct uprobes *u)
{
	return u && drain(u, clock_mono_ns());
}

bool uprobes_turn(struct uprobes *u, const pid_t *pids, size_t n, uint64_t now_ns)
{
	if (!u)
		return false;
	size_t kept = 0;
	for (size_t i = 0; i < u->n; i++) // what nobody has claimed in a whole turn is of another process
		if (u->met[i].ns > u->turn_ns)
			u->met[kept++] = u->met[i];
	u->n = kept;
	u->turn_ns = u->until_ns;
	bool first = !u->look_ns;
	if (!u->why_not && now_ns >= u->look_ns) {
		u->look_ns = now_ns + LOOK_NS;
		for (size_t i = 0; i < n && !first; i++)
			uprobes_process(u, pids[i]);
	}
	return drain(u, clock_mono_ns());
}

bool uprobes_due(const struct uprobes *u, pid_t pid)
{
	for (size_t i = 0; u && i < u->n; i++)
		if (u->met[i].pid == (uint32_t)pid && u->met[i].ns <= u->until_ns)
			return true;
	return false;
}

static int by_thread(const void *a, const void *b)
{
	const struct met *x = a, *y = b;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

static void put(unsigned char **at, const void *bytes, size_t n)
{
	memcpy(*at, bytes, n);
	*at += n;
}

static void put_event(unsigned char **at, const struct place *p, const struct met *m, uint64_t time,
		      uint64_t who)
{
	put(at, &p->class->id, 4);
	put(at, &time, 8);
	put(at, &who, 8);
	for (unsigned i = 0; i < p->n; i++)
		if (p->arguments[i].operand != USDT_UNKNOWN)
			put(at, &m->values[i], p->arguments[i].bytes);
	if (p->tells)
		put(at, &m->unread, 2);
}

// Some of one thread, in order, none before `floor`. The time of the last.
static uint64_t place_some(struct uprobes *u, const struct met *m, unsigned n, struct harvest *h,
			   uint64_t floor)
{
	const struct clock_pairs *clock = &u->recorder->clock;
	uint64_t slack = clock_to_ticks(clock, m->ns + SLACK_NS) - clock_to_ticks(clock, m->ns);
	uint64_t lost = u->lost + pmu_lost_noted(u->pmu);
	struct writer_placed e = {
		.tid = m->tid, .events = n, .lost = lost - u->lost_told, .bytes = u->packet};
	unsigned char *at = u->packet;
	for (unsigned i = 0; i < n; i++) {
		uint64_t time = clock_to_ticks(clock, m[i].ns);
		time = time > floor ? time : floor; // the rate of the clock gets better meanwhile
		floor = time;
		e.begin = i ? e.begin : time;
		put_event(&at, &u->places[m[i].place], &m[i], time,
			  h->ran ? ran_at(h->ran, m->tid, time, slack, m[i].sp) : 0);
	}
	e.end = floor;
	e.n = (size_t)(at - u->packet);
	u->lost_told = lost;
	h->writer->ops->placed(h->writer, h->to, &e);
	return floor;
}

// Those of the process and before the last look, in order, behind all others, which stay as many as returned.
static size_t apart(struct uprobes *u, pid_t pid)
{
	size_t rest = 0;
	for (size_t i = 0; i < u->n; i++)
		if (u->met[i].pid != (uint32_t)pid || u->met[i].ns > u->until_ns) {
			struct met m = u->met[rest];
			u->met[rest++] = u->met[i];
			u->met[i] = m;
		}
	if (u->n > rest)
		qsort(u->met + rest, u->n - rest, sizeof(*u->met), by_thread);
	return rest;
}

void uprobes_place(struct uprobes *u, pid_t pid, struct harvest *h, uint64_t *last)
{
	if (!u)
		return;
	size_t rest = h->to ? apart(u, pid) : u->n, at = rest;
	uint64_t floor = *last;
	if (h->writer->stopped) {
		h->writer->not_recorded += u->n - rest;
		at = u->n;
	}
	for (size_t n = 0, same; at < u->n; at += n) {
		for (n = 1; at + n < u->n && n < PACKET_EVENTS && u->met[at + n].tid == u->met[at].tid; n++)
			;
		same = at > rest && u->met[at - 1].tid == u->met[at].tid;
		uint64_t end = place_some(u, &u->met[at], (unsigned)n, h, same ? *last : floor);
		*last = same || end > *last ? end : *last;
	}
	u->n = rest;
	if (h->ran)
		ran_forget(h->ran, clock_to_ticks(&u->recorder->clock, u->until_ns - SLACK_NS));
}
