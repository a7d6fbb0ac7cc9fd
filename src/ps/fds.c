// SPDX-License-Identifier: MIT
//
// What a descriptor is: its kind from the region's table, its name from /proc:
// the link says the path or the socket's inode, the network's tables (read at
// the first socket) say the addresses. A name is only given if the descriptor
// was of the same generation before and after the link was read.
#include "ps/fds.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/idmap.h"
#include "ctp/words.h"

struct sock {
	char local[56], peer[56]; // "" = none
};

struct fds {
	const struct found *found;
	bool net_read;
	struct sock *socks;
	size_t n, capacity;
	struct idmap by_ino;
};

int fds_new(struct fds **out, const struct found *f)
{
	struct fds *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->found = f;
	*out = s;
	return 0;
}

void fds_free(struct fds *f)
{
	if (!f)
		return;
	free(f->socks);
	idmap_deinit(&f->by_ino);
	free(f);
}

// An address as the kernel prints it: words of the address in host order, then the port.
static void address(const char *hex, unsigned port, char *out, size_t bytes)
{
	uint32_t words[4];
	char text[INET6_ADDRSTRLEN];
	bool six = strlen(hex) == 32, any = false;
	for (int i = 0; i < (six ? 4 : 1); i++) {
		char word[9];
		snprintf(word, sizeof(word), "%.8s", hex + 8 * i);
		words[i] = (uint32_t)strtoul(word, NULL, 16);
		any |= words[i] != 0;
	}
	*out = 0;
	if ((any || port) && inet_ntop(six ? AF_INET6 : AF_INET, words, text, sizeof(text)))
		snprintf(out, bytes, six ? "[%s]:%u" : "%s:%u", text, port);
}

static void add(struct fds *f, uint64_t ino, const struct sock *s)
{
	if (!ino || GROW(f->socks, f->n, f->capacity) || idmap_set(&f->by_ino, ino, (uint32_t)f->n))
		return; // without memory it has no name
	f->socks[f->n++] = *s;
}

static void inet_line(struct fds *f, const char *line)
{
	char local[33], peer[33];
	unsigned local_port, peer_port;
	uint64_t ino;
	struct sock s;
	if (sscanf(line, " %*u: %32[0-9A-F]:%x %32[0-9A-F]:%x %*x %*x:%*x %*x:%*x %*x %*u %*u %" SCNu64, local,
		   &local_port, peer, &peer_port, &ino) != 5)
		return;
	address(local, local_port, s.local, sizeof(s.local));
	address(peer, peer_port, s.peer, sizeof(s.peer));
	add(f, ino, &s);
}

static void unix_line(struct fds *f, const char *line)
{
	uint64_t ino;
	int at = 0;
	struct sock s = { .peer = "" };
	if (sscanf(line, "%*x: %*x %*x %*x %*x %*x %" SCNu64 " %n", &ino, &at) != 1 || !at || !line[at])
		return;
	snprintf(s.local, sizeof(s.local), "%s", line + at);
	s.local[strcspn(s.local, "\n")] = 0;
	add(f, ino, &s);
}

static void read_net(struct fds *f)
{
	static const struct {
		const char *name;
		void (*line)(struct fds *f, const char *line);
	} all[] = { { "tcp", inet_line }, { "tcp6", inet_line }, { "udp", inet_line }, { "udp6", inet_line },
		    { "unix", unix_line } };
	char *line = NULL, path[48];
	size_t room = 0;
	f->net_read = true;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)f->found->pid, all[i].name);
		FILE *file = fopen(path, "re");
		while (file && getline(&line, &room, file) > 0)
			all[i].line(f, line);
		if (file)
			fclose(file);
	}
	free(line);
}

static void socket_name(struct fds *f, uint64_t ino, bool accepted, struct fds_one *out)
{
	if (!f->net_read)
		read_net(f);
	uint32_t at = idmap_get(&f->by_ino, ino);
	if (at == IDMAP_NONE)
		return;
	const struct sock *s = &f->socks[at];
	snprintf(out->name, sizeof(out->name), "%s%s%s", s->local, !*s->peer ? "" : accepted ? " <- " : " -> ", s->peer);
}

static bool read_row(const struct fds *f, int32_t fd, struct ctp_fd *row)
{
	const struct ctp_ext *x = &f->found->header.ext;
	return fd >= 0 && (uint64_t)fd < x->fds_max &&
	       source_read_record(&f->found->region, x->fds_off + (uint64_t)fd * sizeof(*row), row, sizeof(*row)) >= 0;
}

int fds_open(const struct fds *f, int32_t fd, uint32_t gen, const char **kind)
{
	struct ctp_fd row;
	*kind = NULL;
	if (!read_row(f, fd, &row))
		return -1;
	if (row.gen != gen || row.life != CTP_FD_OPEN)
		return 0;
	*kind = words_kind(row.kind);
	return 1;
}

static void find_name(struct fds *f, int32_t fd, struct fds_one *out)
{
	char path[48], link[sizeof(out->name)];
	uint64_t ino;
	struct ctp_fd row;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)f->found->pid, fd);
	ssize_t n = readlink(path, link, sizeof(link) - 1);
	link[n > 0 ? n : 0] = 0;
	if (sscanf(link, "socket:[%" SCNu64, &ino) == 1)
		socket_name(f, ino, read_row(f, fd, &row) && row.opened_how == CTP_CALL_ACCEPT, out);
	else if (strncmp(link, "anon_inode:", 11))
		snprintf(out->name, sizeof(out->name), "%s", link);
	find_clean(out->name);
}

void fds_describe(struct fds *f, int32_t fd, uint32_t gen, struct fds_one *out)
{
	const char *kind;
	*out = (struct fds_one){ .kind = NULL };
	out->open = fds_open(f, fd, gen, &out->kind);
	if (out->open == 1)
		find_name(f, fd, out);
	if (out->open == 1 && fds_open(f, fd, gen, &kind) != 1)
		*out = (struct fds_one){ .open = 0 };
}
