// SPDX-License-Identifier: MIT
//
// Writes synthetic trace directories (spec/trace.md), for tests only.
#include "builder.h"

#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

static void path_of(const struct builder *b, char out[1024], const char *name)
{
	snprintf(out, 1024, "%s/%s", b->dir, name);
}

int builder_begin(struct builder *b, const char *dir)
{
	char path[1024];
	memset(b, 0, sizeof(*b));
	snprintf(b->dir, sizeof(b->dir), "%s", dir);
	mkdir(dir, 0777);
	path_of(b, path, "ctp");
	mkdir(path, 0777);
	path_of(b, path, "ctp/image0");
	if (mkdir(path, 0777) && errno != EEXIST)
		return -errno;
	path_of(b, path, "ctp/image0/witness.jsonl");
	b->witness = fopen(path, "we");
	b->ext.magic = CTP_EXT_MAGIC;
	b->ext.version = CTP_EXT_VERSION;
	b->ext.bytes = sizeof(b->ext);
	b->ext.attached = b->ext.attached_ns = BUILDER_START;
	b->ext.epoch = 1;
	b->complete = true;
	b->snapshot_ns = BUILDER_START + 5000000000ULL;
	b->reason = "exit";
	b->nwords = 0;
	b->nstacks = 1;
	return b->witness ? 0 : -errno;
}

static int self_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct ctp_module *m = arg;
	m->ready = 1;
	m->base = info->dlpi_addr;
	m->start = UINT64_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type != PT_LOAD)
			continue;
		uint64_t at = info->dlpi_addr + p->p_vaddr;
		m->start = at < m->start ? at : m->start;
		m->end = at + p->p_memsz > m->end ? at + p->p_memsz : m->end;
	}
	return 1; // the first is the program
}

void builder_self(struct builder *b)
{
	struct ctp_module *m = &b->modules[b->nmodules++];
	dl_iterate_phdr(self_module, m);
	if (readlink("/proc/self/exe", m->path, sizeof(m->path) - 1) < 0)
		m->path[0] = 0;
}

uint32_t builder_stack(struct builder *b, unsigned n, const uint64_t *pcs)
{
	b->stack_index[b->nstacks] = b->nwords + 1;
	b->stack_words[b->nwords++] = n;
	memcpy(&b->stack_words[b->nwords], pcs, n * sizeof(*pcs));
	b->nwords += n;
	return b->nstacks++;
}

struct ctp_state *builder_coroutine(struct builder *b, uint64_t id, enum ctp_life life)
{
	struct ctp_state *c = &b->stations[b->nstations];
	*c = (struct ctp_state){
		.owner = CTP_OWNER_GUEST, .id = id, .entity = CTP_COROUTINE, .life = life,
		.station = b->nstations, .changes = life == CTP_CREATED ? 0 : 4,
		.runs = life == CTP_CREATED ? 0 : 2, .since = BUILDER_START + 1000000,
		.created = BUILDER_START + 500000, .lo = 0x7f0000000000 + (uint64_t)b->nstations * 65536,
	};
	c->hi = c->lo + 65536;
	b->nstations++;
	return c;
}

void builder_name(struct builder *b, const struct ctp_state *c, const char *name)
{
	struct ctp_name *n = &b->names[c->station];
	n->id = c->id;
	snprintf(n->text, sizeof(n->text), "%s", name);
}

struct ctp_thread *builder_thread(struct builder *b, uint32_t tid, uint64_t native)
{
	struct ctp_thread *t = &b->threads[b->nthreads++];
	*t = (struct ctp_thread){
		.life = CTP_THREAD_LIVE, .tid = tid, .native = native, .began = BUILDER_START,
		.switches = 100, .polls = 50, .turns = 50, .seen = 1, .slept_epoch = 1,
		.wait_call = CTP_IN_EPOLL, .wait_since = BUILDER_START + 4000000000ULL,
	};
	return t;
}

struct ctp_fd *builder_fd(struct builder *b, int fd, uint32_t gen, enum ctp_fd_life life)
{
	struct ctp_fd *f = &b->fds[fd];
	*f = (struct ctp_fd){
		.gen = gen, .life = life, .kind = CTP_FD_TCP, .opened_how = CTP_CALL_ACCEPT,
		.opened = BUILDER_START + 200000, .opener = 1, .reg_epfd = 4, .reg_events = EPOLLIN,
		.reg_data = 1000 + (uint64_t)fd,
	};
	return f;
}

void builder_wait(struct ctp_state *c, int fd, uint32_t gen, uint64_t data)
{
	c->waits[c->nwaits++] = (struct ctp_wait){
		.fd = fd, .gen = gen, .events = EPOLLIN, .how = CTP_WAIT_REGISTERED, .data = data, .epfd = 4,
	};
}

struct ctp_cand *builder_close(struct builder *b, int fd, uint64_t closer, uint64_t time)
{
	struct ctp_cand *c = &b->cands[b->ncands++];
	struct ctp_fd *f = &b->fds[fd];
	*c = (struct ctp_cand){
		.ready = 1, .kind = CTP_CAND_CLOSE, .time = time, .before = time - 1000, .epoch = 1,
		.fd = fd, .gen = f->gen, .call = CTP_CALL_CLOSE, .closer = closer,
		.fd_kind = f->kind, .was = *f,
	};
	f->life = CTP_FD_CLOSED;
	f->closed_how = CTP_CALL_CLOSE;
	f->closed = time;
	f->closer = closer;
	f->reg_epfd = -1;
	return c;
}

void builder_look(struct builder *b, const struct ctp_state *c, int fd, uint32_t gen, uint64_t ns,
		  const char *holds, const char *open)
{
	static const char *const ids[] = { "P0", "P2", "P3", "P4", "P5", "P6a", "P6b" };
	fprintf(b->witness, "{\"v\":1,\"ns\":%llu,\"look\":\"live\",\"coroutine\":%llu,\"changes\":%llu,"
		"\"cand\":0,\"fd\":%d,\"gen\":%u,\"fd_kind\":\"tcp\",\"fd_name\":\"127.0.0.1:8080 <- "
		"127.0.0.1:51122\",\"evidence\":[", (unsigned long long)ns, (unsigned long long)c->id,
		(unsigned long long)c->changes, fd, gen);
	for (unsigned i = 0; holds[i]; i++)
		fprintf(b->witness, "%s{\"id\":\"%s\",\"holds\":%s,\"text\":\"look %s\"}", i ? "," : "",
			ids[i], holds[i] == '+' ? "true" : holds[i] == '-' ? "false" : "null", ids[i]);
	fprintf(b->witness, "],\"open\":[%s%s%s],\"scanned_bytes\":4096,\"turns\":39}\n",
		open ? "\"" : "", open ? open : "", open ? "\"" : "");
}

static void write_packet(FILE *f, unsigned slot, uint64_t seq, struct ctp_cursor *c, const struct ctp_record *r, size_t n)
{
	struct {
		uint32_t magic, stream;
		uint64_t begin, end, content, packet, discarded;
		uint32_t tid, thread;
		uint64_t seq, near, native, current;
		uint32_t current_n, reserved;
	} h = { 0xC1FC1FC1, 0, n ? r[0].w0 >> 8 : 0, 0, (96 + n * 16) * 8, (96 + n * 16) * 8, 0, 100 + slot, slot, seq,
		c->near, c->native, c->current, c->n, 0 };
	for (size_t i = 0; i < n; i += ctp_record_slots(r + i, n - i))
		ctp_cursor_pass(c, r + i);
	h.end = c->time;
	fwrite(&h, sizeof(h), 1, f);
	fwrite(r, sizeof(*r), n, f);
}

int builder_stream(struct builder *b, unsigned slot, const struct ctp_record *r, size_t n, size_t per,
		   size_t torn)
{
	char path[1024], name[32];
	struct ctp_cursor c = { .time = n ? r[0].w0 >> 8 : 0 };
	snprintf(name, sizeof(name), "t%u.0", slot);
	path_of(b, path, name);
	FILE *f = fopen(path, "we");
	if (!f)
		return -errno;
	uint64_t seq = 0;
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && (end == i || end - i < per); end += ctp_record_slots(r + end, n - end))
			;
		write_packet(f, slot, seq++, &c, r + i, end - i);
	}
	if (torn) {
		long whole = ftell(f);
		write_packet(f, slot, seq, &c, r, n);
		fflush(f);
		if (ftruncate(fileno(f), whole + (long)torn))
			return -errno;
	}
	return fclose(f) ? -errno : 0;
}

static void write_table(const struct builder *b, const char *name, const void *rows, size_t bytes,
			size_t n, bool indexed, bool used_only)
{
	char path[1024], file[64];
	snprintf(file, sizeof(file), "ctp/image0/%s", name);
	path_of(b, path, file);
	FILE *f = fopen(path, "we");
	if (!f)
		return;
	uint64_t count = 0;
	for (size_t i = 0; i < n; i++)
		count += !used_only || ((const struct ctp_fd *)rows)[i].gen;
	struct {
		char magic[8];
		uint32_t version, record;
		uint64_t count;
		uint32_t indexed, reserved;
		uint64_t time, more[3];
	} h = { "CTPTAB1", 1, (uint32_t)(bytes + (indexed ? 8 : 0)), count, indexed, 0, b->snapshot_ns, { 0 } };
	fwrite(&h, sizeof(h), 1, f);
	for (uint64_t i = 0; i < n; i++) {
		if (used_only && !((const struct ctp_fd *)rows)[i].gen)
			continue;
		if (indexed)
			fwrite(&i, sizeof(i), 1, f);
		fwrite((const char *)rows + i * bytes, bytes, 1, f);
	}
	fclose(f);
}

static void write_tables(const struct builder *b)
{
	write_table(b, "ext", &b->ext, sizeof(b->ext), 1, false, false);
	write_table(b, "stations", b->stations, sizeof(b->stations[0]), b->nstations, true, false);
	write_table(b, "threads", b->threads, sizeof(b->threads[0]), b->nthreads, true, false);
	write_table(b, "fds", b->fds, sizeof(b->fds[0]), BUILDER_ROWS, true, true);
	write_table(b, "cands", b->cands, sizeof(b->cands[0]), b->ncands, true, false);
	write_table(b, "modules", b->modules, sizeof(b->modules[0]), b->nmodules, false, false);
	write_table(b, "names", b->names, sizeof(b->names[0]), BUILDER_ROWS, true, false);
	write_table(b, "stack_index", b->stack_index, 4, b->nstacks, false, false);
	write_table(b, "stack_words", b->stack_words, 8, b->nwords, false, false);
}

int builder_end(struct builder *b)
{
	char path[1024];
	fclose(b->witness);
	if (!b->no_tables)
		write_tables(b);
	path_of(b, path, "ctp/trace.json");
	FILE *f = fopen(path, "we");
	if (!f)
		return -errno;
	fprintf(f, "{\"format\":\"ctp-trace\",\"version\":1,\"layout\":%u,\"tool\":\"ctp-run 0.0\",\"complete\":%s,"
		"\"uuid\":\"f81d4fae-7dec-41d0-8765-00a0c91e6bf6\",\"host\":\"golden\","
		"\"started\":\"2026-11-24T05:00:00.000000+01:00\","
		"\"command\":[\"./server\"],\"exe\":\"/server\",\"pid\":99,"
		"\"clock\":{\"kind\":\"monotonic\",\"ticks0\":1,\"ns0\":1,\"ticks1\":2,\"ns1\":2,"
		"\"wall_ns0\":1795492800000000000},",
		CTP_EXT_VERSION, b->complete ? "true" : "false");
	fprintf(f, "\"snapshot\":{\"ns\":%llu,\"reason\":\"%s\"},\"images\":[{\"index\":0,\"pid\":99,\"exe\":\"/server\","
		"\"attached_ns\":%llu,\"guest\":true}],\"term_forwarded_ns\":%llu,\"dropped_packets\":0,"
		"\"dropped_records\":0,\"v1_lost\":0,\"coverage\":[%s%s%s]}\n",
		(unsigned long long)b->snapshot_ns, b->reason, (unsigned long long)BUILDER_START,
		(unsigned long long)b->term_forwarded_ns, b->coverage ? "\"" : "",
		b->coverage ? b->coverage : "", b->coverage ? "\"" : "");
	return fclose(f) ? -errno : 0;
}
