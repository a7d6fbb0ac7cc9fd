// SPDX-License-Identifier: MIT
//
// Names for what coroutines wait for: sockets by their inode from /proc/PID/net, everything else as
// /proc/PID/fd shows it. The deadline stops the work between two lines, and each line stands alone. What is
// unread is asked of a copy of the descriptor, which keeps a file alive for a moment: only while every thread
// sleeps. At other times the last answer stands while nothing has come or was read since. What a process that
// ends does not show any more was better before.
#include "engine/witness/descriptors.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/json.h"
#include "ctp/seq.h"
#include "ctp/there.h"
#include "engine/witness/evidence.h"
#include "engine/inspect/inspect.h"
#include "engine/target/proc.h"
#include "engine/suspects/stuck_wait.h"

enum { ASK_MAX = 16384 };

struct named {
	uint64_t ino;
	char name[112];
};

struct names {
	struct named *v;
	size_t n, room;
};

static struct named *more(struct names *s)
{
	if (s->n == s->room) {
		size_t room = s->room ? s->room * 2 : 256;
		struct named *p = realloc(s->v, room * sizeof(*p));
		if (!p)
			return NULL;
		s->v = p;
		s->room = room;
	}
	return &s->v[s->n];
}

// An address as net/tcp has it: groups of four bytes in host order, then the port.
static void endpoint(const char *hex, unsigned port, char *out, size_t bytes)
{
	unsigned words[4] = {0};
	char ip[INET6_ADDRSTRLEN] = "?";
	bool v6 = strlen(hex) == 32;
	for (int i = 0; i < (v6 ? 4 : 1); i++)
		sscanf(hex + 8 * i, "%8x", &words[i]);
	inet_ntop(v6 ? AF_INET6 : AF_INET, words, ip, sizeof(ip));
	snprintf(out, bytes, v6 ? "[%s]:%u" : "%s:%u", ip, port);
}

static void read_inet(struct names *s, pid_t pid, const char *file)
{
	char *text, *save = NULL;
	if (proc_slurp(pid, file, &text, NULL))
		return;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char local[40], peer[40], a[64], b[64];
		unsigned lport, pport, state;
		unsigned long long ino;
		struct named *d = more(s);
		if (!d ||
		    sscanf(line, " %*d: %39[0-9A-F]:%x %39[0-9A-F]:%x %x %*s %*s %*s %*d %*d %llu", local,
			   &lport, peer, &pport, &state, &ino) != 6 ||
		    !ino)
			continue;
		endpoint(local, lport, a, sizeof(a));
		endpoint(peer, pport, b, sizeof(b));
		d->ino = ino;
		if (pport)
			snprintf(d->name, sizeof(d->name), "%.50s <- %.50s", a, b);
		else
			snprintf(d->name, sizeof(d->name), "%s", a);
		s->n++;
	}
	free(text);
}

static void read_unix(struct names *s, pid_t pid)
{
	char *text, *save = NULL;
	if (proc_slurp(pid, "net/unix", &text, NULL))
		return;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned long long ino;
		char path[104] = "";
		struct named *d = more(s);
		if (!d || sscanf(line, "%*s %*s %*s %*s %*s %*s %llu %103s", &ino, path) != 2)
			continue;
		d->ino = ino;
		snprintf(d->name, sizeof(d->name), "%s", path);
		s->n++;
	}
	free(text);
}

static int by_ino(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

// Has it an other end that may be waited for?
static bool has_peer(const struct ctp_fd *f)
{
	return !(f->flags & CTP_FD_LISTENS) && (f->kind == CTP_FD_TCP || f->kind == CTP_FD_UDP ||
						f->kind == CTP_FD_UNIX || f->kind == CTP_FD_PIPE);
}

static bool was_used(const struct ctp_fd *f)
{
	return has_peer(f) && ((f->last_in && !(f->last_in & CTP_FD_UNNAMED)) ||
			       (f->last_out && !(f->last_out & CTP_FD_UNNAMED)));
}

// A timerfd that several set: whoever armed it may wait for it, and tell so in no other way.
static bool is_shared_timer(const struct ctp_fd *f)
{
	return f->kind == CTP_FD_TIMERFD && (f->last_out & CTP_FD_SEVERAL);
}

// The numbers below the one returned may have waiters; bits says which may.
static uint32_t mark_waits(const struct ctp_region *r, unsigned char *bits)
{
	uint32_t high = 0;
	struct ctp_walk w = ctp_walk_states(r), numbers = ctp_walk_fds(r);
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n; i = ctp_walk_from(&w, i + 1)) {
		const struct ctp_state *c = &r->states[i];
		struct ctp_state s;
		if (ctp_load32(&c->owner) != CTP_OWNER_GUEST || c->life != CTP_SUSPENDED || !c->nwaits ||
		    !ctp_state_read(c, &s))
			continue;
		for (uint32_t k = 0; k < s.nwaits && k < CTP_WAITS; k++)
			if (s.waits[k].fd >= 0 && (uint32_t)s.waits[k].fd < r->fds_max) {
				bits[s.waits[k].fd / 8] |= (unsigned char)(1 << s.waits[k].fd % 8);
				high = (uint32_t)s.waits[k].fd >= high ? (uint32_t)s.waits[k].fd + 1 : high;
			}
	}
	for (uint64_t fd = ctp_walk_from(&numbers, 0); fd < numbers.n;
	     fd = ctp_walk_from(&numbers,
				fd + 1)) // and those whose events resumed somebody, or that were used
		if (r->fds[fd].life == CTP_FD_OPEN &&
		    (r->fds[fd].learned || was_used(&r->fds[fd]) || is_shared_timer(&r->fds[fd]))) {
			bits[fd / 8] |= (unsigned char)(1 << fd % 8);
			high = fd >= high ? (uint32_t)fd + 1 : high;
		}
	return high;
}

// What the kernel's tables of sockets say; each only where one of its kind may be asked for, since
// the kernel goes through its whole hash for net/tcp.
static void read_names(struct names *s, const struct ctp_region *r, pid_t pid, const unsigned char *bits,
		       uint32_t high, uint64_t deadline_ns)
{
	static const struct {
		const char *file;
		enum ctp_fd_kind kind;
	} inet[] = {
		{"net/tcp", CTP_FD_TCP},
		{"net/tcp6", CTP_FD_TCP},
		{"net/udp", CTP_FD_UDP},
		{"net/udp6", CTP_FD_UDP},
	};
	uint32_t kinds = 0;
	for (uint32_t fd = 0; fd < high; fd++)
		if ((bits[fd / 8] >> fd % 8 & 1) && ctp_there(r, &r->fds[fd]))
			kinds |= 1u << (r->fds[fd].kind & 31);
	for (size_t i = 0; i < sizeof(inet) / sizeof(*inet) && !signals_late(deadline_ns); i++)
		if (kinds & (1u << inet[i].kind | 1u << CTP_FD_OTHER))
			read_inet(s, pid, inet[i].file);
	if (kinds & (1u << CTP_FD_UNIX | 1u << CTP_FD_OTHER) && !signals_late(deadline_ns))
		read_unix(s, pid);
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_ino);
}

static int by_fd(const void *a, const void *b)
{
	const struct descriptors_answer *x = a, *y = b;
	return x->fd < y->fd ? -1 : x->fd > y->fd;
}

static bool still_so(const struct descriptors_answer *a, const struct ctp_fd *f)
{
	return a->gen == f->gen && a->event_time == f->event_time && a->last_in == f->last_in;
}

// What of it is there to be read, and how much that is. Nothing where it cannot be told.
static void add_unread(json_t *o, struct descriptors_told *now, const struct descriptors_told *before,
		       pid_t pid, int fd, const struct ctp_fd *f, bool ask)
{
	struct descriptors_answer a = {
		.fd = fd, .gen = f->gen, .event_time = f->event_time, .last_in = f->last_in};
	const struct descriptors_answer *old =
		before->n ? bsearch(&a, before->v, before->n, sizeof(a), by_fd) : NULL;
	int is = ask ? stuck_wait_readable(pid, fd, &a.bytes) : -1;
	if (is >= 0) {
		a.ns = proc_now_ns();
		if (is)
			a.ready_ns = old && old->ready_ns && still_so(old, f) ? old->ready_ns : a.ns;
	} else if (old && still_so(old, f)) {
		a = *old;
	} else {
		return;
	}
	if (!GROW(now->v, now->n, now->room))
		now->v[now->n++] = a;
	json_object_set_new(o, "ns", json_integer((json_int_t)a.ns));
	json_object_set_new(o, "ready", json_boolean(a.ready_ns != 0));
	if (a.ready_ns)
		json_object_set_new(o, "ready_ns", json_integer((json_int_t)a.ready_ns));
	json_object_set_new(o, "unread", json_integer(a.bytes));
}

static json_t *line_of(const struct names *names, pid_t pid, int fd, const struct ctp_fd *f)
{
	char link[128];
	if (!proc_fd_link(pid, fd, link, sizeof(link)))
		return NULL;
	struct named key = {0};
	if (!strncmp(link, "socket:[", 8)) {
		key.ino = strtoull(link + 8, NULL, 10);
		const struct named *d = names->n ? bsearch(&key, names->v, names->n, sizeof(key), by_ino) :
						   NULL;
		if (d)
			snprintf(link, sizeof(link), "%s", d->name);
		char *from = strstr(link, " <- ");
		if (from && f->opened_how == CTP_CALL_SOCKET)
			memcpy(from, " -> ", 4); // it has connected
	}
	json_t *text = json_string(link);
	return json_pack("{s:i, s:I, s:s, s:o, s:b}", "fd", fd, "gen", (json_int_t)f->gen, "kind",
			 evidence_fd_kind(f->kind), "name", text ? text : json_null(), "registered",
			 f->reg_epfd >= 0);
}

bool descriptors_wanted(const struct ctp_region *r)
{
	struct ctp_walk w = ctp_walk_states(r);
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n; i = ctp_walk_from(&w, i + 1)) {
		const struct ctp_state *c = &r->states[i];
		if (ctp_load32(&c->owner) == CTP_OWNER_GUEST && c->life == CTP_SUSPENDED &&
		    c->entity == CTP_COROUTINE && c->runs)
			return true;
	}
	return false;
}

// One pass over the descriptors that may have waiters.
struct pass {
	const struct ctp_region *r;
	pid_t pid;
	uint64_t deadline_ns;
	bool ask;
	size_t lines;
	int first; // of which there is a line; -1: none
	bool late, missing;
};

static void write_lines(struct pass *p, FILE *out, const unsigned char *bits, uint32_t high,
			struct descriptors_told *now, const struct descriptors_told *before)
{
	struct names names = {0};
	unsigned asked = 0;
	read_names(&names, p->r, p->pid, bits, high, p->deadline_ns);
	for (uint32_t fd = 0; fd < high && !(p->late = signals_late(p->deadline_ns)); fd++) {
		struct ctp_fd f;
		if (!(bits[fd / 8] >> fd % 8 & 1) || !inspect_fd(p->r, fd, &f) || f.life != CTP_FD_OPEN)
			continue;
		json_t *o = line_of(&names, p->pid, (int)fd, &f);
		p->missing |= !o;
		if (o && has_peer(&f))
			add_unread(o, now, before, p->pid, (int)fd, &f, p->ask && asked++ < ASK_MAX);
		if (o && is_shared_timer(&f) && stuck_wait_disarmed(p->pid, (int)fd) == 1) {
			json_object_set_new(o, "ns", json_integer((json_int_t)proc_now_ns()));
			json_object_set_new(o, "disarmed", json_true());
		}
		if (json_line(out, o))
			p->first = p->lines++ ? p->first : (int)fd;
	}
	free(names.v);
}

// It ends: what it had open cannot be seen any more.
static bool is_gone(const struct pass *p)
{
	char link[128];
	return p->lines ? !proc_fd_link(p->pid, p->first, link, sizeof(link)) : p->missing;
}

static bool replace(FILE *out, const char *text, size_t bytes)
{
	rewind(out);
	return !ftruncate(fileno(out), 0) && fwrite(text, 1, bytes, out) == bytes && !fflush(out);
}

void descriptors_write(FILE *out, struct descriptors_told *told, const struct ctp_region *r, pid_t pid,
		       uint64_t deadline_ns)
{
	bool stopped;
	char *text = NULL;
	size_t bytes = 0;
	struct descriptors_told now = {0};
	unsigned char *bits = calloc(1, r->fds_max / 8 + 1);
	FILE *to = bits ? open_memstream(&text, &bytes) : NULL;
	struct pass p = {.r = r,
			 .pid = pid,
			 .deadline_ns = deadline_ns,
			 .ask = proc_asleep(pid, &stopped),
			 .first = -1};
	if (to)
		write_lines(&p, to, bits, mark_waits(r, bits), &now, told);
	if (to && !fclose(to) && !is_gone(&p) && !(p.late && p.lines <= told->lines) &&
	    replace(out, text, bytes)) {
		descriptors_told_deinit(told);
		*told = now;
		told->lines = p.lines;
	} else {
		descriptors_told_deinit(&now);
	}
	free(text);
	free(bits);
}

void descriptors_told_deinit(struct descriptors_told *told)
{
	free(told->v);
	*told = (struct descriptors_told){0};
}
