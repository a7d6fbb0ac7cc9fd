// SPDX-License-Identifier: MIT
//
// /proc/PID/net/tcp and its like are those of the process's own network namespace.
#include "ps/read/sockets.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

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

static void add(struct sockets *f, uint64_t ino, const struct sockets_one *s)
{
	if (!ino || GROW(f->v, f->n, f->capacity) || idmap_set(&f->by_ino, ino, (uint32_t)f->n))
		return; // without memory it has no name
	f->v[f->n++] = *s;
}

static void inet_line(struct sockets *f, const char *line)
{
	char local[33], peer[33];
	unsigned local_port, peer_port;
	uint64_t ino;
	struct sockets_one s = {.udp = false};
	if (sscanf(line, " %*u: %32[0-9A-F]:%x %32[0-9A-F]:%x %*x %*x:%*x %*x:%*x %*x %*u %*u %" SCNu64,
		   local, &local_port, peer, &peer_port, &ino) != 5)
		return;
	address(local, local_port, s.local, sizeof(s.local));
	address(peer, peer_port, s.peer, sizeof(s.peer));
	add(f, ino, &s);
}

static void udp_line(struct sockets *f, const char *line)
{
	size_t n = f->n;
	inet_line(f, line);
	if (f->n > n)
		f->v[n].udp = true;
}

static void unix_line(struct sockets *f, const char *line)
{
	uint64_t ino;
	int at = 0;
	struct sockets_one s = {.local_only = true};
	if (sscanf(line, "%*x: %*x %*x %*x %*x %*x %" SCNu64 " %n", &ino, &at) != 1)
		return;
	snprintf(s.local, sizeof(s.local), "%s", at ? line + at : "");
	s.local[strcspn(s.local, "\n")] = 0;
	add(f, ino, &s);
}

static void read_all(struct sockets *f, const char *folder)
{
	static const struct {
		const char *name;
		void (*line)(struct sockets *f, const char *line);
	} all[] = {{"tcp", inet_line},
		   {"tcp6", inet_line},
		   {"udp", udp_line},
		   {"udp6", udp_line},
		   {"unix", unix_line}};
	char *line = NULL, path[4096];
	size_t room = 0;
	f->read = true;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		snprintf(path, sizeof(path), "%s/net/%s", folder, all[i].name);
		FILE *file = fopen(path, "re");
		while (file && getline(&line, &room, file) > 0)
			all[i].line(f, line);
		if (file)
			fclose(file);
	}
	free(line);
}

const struct sockets_one *sockets_find(struct sockets *s, const char *folder, uint64_t ino)
{
	if (!s->read)
		read_all(s, folder);
	uint32_t at = idmap_get(&s->by_ino, ino);
	return at == IDMAP_NONE ? NULL : &s->v[at];
}

void sockets_name(const struct sockets_one *s, bool accepted, char *to, size_t bytes)
{
	snprintf(to, bytes, "%s%s%s", s->local, !*s->peer ? "" : accepted ? " <- " : " -> ", s->peer);
}

void sockets_deinit(struct sockets *s)
{
	free(s->v);
	idmap_deinit(&s->by_ino);
	*s = (struct sockets){0};
}
