// SPDX-License-Identifier: MIT
//
// One JSON line for each inspection and coroutine (spec/trace.md). An inspection with the same result
// as the one before writes nothing, so a program that hangs for hours leaves one line.
#include "engine/witness/evidence.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/json.h"
#include "ctp/rules.h"
#include "engine/witness/decided.h"
#include "unwind/unwind.h"

const char *evidence_fd_kind(unsigned kind)
{
	static const char *const names[] = {"other", "file",    "pipe",    "tcp",      "udp",
					    "unix",  "eventfd", "timerfd", "signalfd", "epoll"};
	return kind < sizeof(names) / sizeof(*names) ? names[kind] : "other";
}

static bool address(const uint8_t *bytes, uint32_t len, char *text, size_t room)
{
	struct sockaddr_in6 a6;
	struct sockaddr_in a4;
	char ip[INET6_ADDRSTRLEN];
	sa_family_t family;
	memcpy(&family, bytes, sizeof(family));
	if (family == AF_INET && len >= 8) {
		memcpy(&a4, bytes, sizeof(a4));
		snprintf(text, room, "%s:%u", inet_ntop(AF_INET, &a4.sin_addr, ip, sizeof(ip)),
			 ntohs(a4.sin_port));
	} else if (family == AF_INET6 && len >= 24) {
		memset(&a6, 0, sizeof(a6));
		memcpy(&a6, bytes, sizeof(a6) < 28 ? sizeof(a6) : 28);
		snprintf(text, room, "[%s]:%u", inet_ntop(AF_INET6, &a6.sin6_addr, ip, sizeof(ip)),
			 ntohs(a6.sin6_port));
	} else if (family == AF_UNIX && len > 2 && bytes[2]) {
		snprintf(text, room, "%.*s", (int)strnlen((const char *)bytes + 2, 26),
			 (const char *)bytes + 2);
	} else {
		return false;
	}
	return true;
}

void evidence_fd_name(const struct ctp_cand *c, char *name, size_t bytes)
{
	char local[64], peer[64];
	*name = 0;
	if (c->name_len && address(c->local, c->name_len, local, sizeof(local))) {
		if (address(c->peer, c->name_len, peer, sizeof(peer)))
			snprintf(name, bytes, "%s <- %s", local, peer);
		else
			snprintf(name, bytes, "%s", local);
	} else if (c->ino && S_ISFIFO(c->mode)) {
		snprintf(name, bytes, "pipe:[%llu]", (unsigned long long)c->ino);
	} else if (c->ino && S_ISSOCK(c->mode)) {
		snprintf(name, bytes, "socket:[%llu]", (unsigned long long)c->ino);
	}
}

static uint64_t mix(uint64_t h, const char *s)
{
	for (; *s; s++) // FNV-1a; digits left out: counts and sizes move all the time
		if (*s < '0' || *s > '9')
			h = (h ^ (unsigned char)*s) * 0x100000001b3ULL;
	return h;
}

static uint64_t digest(const struct inspection *l, const struct suspect *s, const char *look)
{
	uint64_t h = mix(0xcbf29ce484222325ULL, look) ^ l->slept_long ^ (uint64_t)s->decided << 1 ^
		     (uint64_t)s->left << 8 ^ (uint64_t)s->put_off << 9 ^ (uint64_t)s->unchecked << 10 ^
		     (uint64_t)s->left_timed << 11 ^ (uint64_t)s->passed << 12;
	for (unsigned i = 0; i < PROOFS; i++)
		h = mix((h ^ (uint64_t)(s->a[i].holds + 2)) * 0x100000001b3ULL, s->a[i].text);
	return h ? h : 1;
}

static json_t *answers(const struct suspect *s)
{
	json_t *a = json_array();
	for (unsigned i = 0; i < PROOFS; i++) {
		if (!proof_is_witnessed(i))
			continue;
		json_t *holds = s->a[i].holds == HOLDS_OPEN ? json_null() :
							      json_boolean(s->a[i].holds == HOLDS_TRUE);
		json_t *text = json_string(s->a[i].text);
		json_array_append_new(a, json_pack("{s:s, s:o, s:o}", "id", proof_word(i), "holds", holds,
						   "text", text ? text : json_string("?")));
	}
	return a;
}

static json_t *open_ways(const struct inspection *l, const struct suspect *s)
{
	json_t *a = json_array();
	for (size_t i = 0; i < l->nopen; i++)
		if (!l->open[i].id || l->open[i].id == s->s.id) {
			json_t *text = json_string(l->open[i].text);
			json_array_append_new(a, text ? text : json_string("a way that has no name"));
		}
	return a;
}

static void add_stack(json_t *o, const struct inspection *l, const struct suspect *s)
{
	uint64_t pcs[UNWIND_FRAMES];
	char text[32];
	size_t n = s->s.stack ? 0 : unwind_state(l->pid, &s->s, pcs, UNWIND_FRAMES);
	if (!n)
		return;
	json_t *a = json_array();
	for (size_t i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "0x%llx", (unsigned long long)pcs[i]);
		json_array_append_new(a, json_string(text));
	}
	json_object_set_new(o, "stack", a);
}

void evidence_write(FILE *out, const struct inspection *l, struct suspect *s, uint64_t ns, const char *look)
{
	uint64_t d = digest(l, s, look);
	if (!out || d == s->said)
		return;
	char name[160];
	evidence_fd_name(&s->c, name, sizeof(name));
	json_t *named = *name ? json_string(name) : NULL; // NULL too if it is no UTF-8
	json_t *o = json_pack("{s:i, s:I, s:s, s:s, s:I, s:I, s:I, s:i, s:I, s:s, s:o, s:o, s:o, s:I, s:I}",
			      "v", 1, "ns", (json_int_t)ns, "look", look, "rule", rules_id[s->rule],
			      "coroutine", (json_int_t)s->s.id, "changes", (json_int_t)s->s.changes, "cand",
			      (json_int_t)s->cand, "fd", (int)s->c.fd, "gen", (json_int_t)s->c.gen, "fd_kind",
			      evidence_fd_kind(s->c.fd_kind), "fd_name", named ? named : json_null(),
			      "evidence", answers(s), "open", open_ways(l, s), "scanned_bytes",
			      (json_int_t)l->scanned_bytes, "turns",
			      (json_int_t)(l->turns > s->turns0 ? l->turns - s->turns0 : 0));
	if (!o)
		return;
	if (s->beside.is)
		json_object_set_new(
			o, "beside",
			json_pack("{s:i, s:I, s:b}", "fd", s->beside.fd, "gen", (json_int_t)s->beside.gen,
				  "there", s->beside.is == BESIDE_THERE));
	if (l->slept_long)
		json_object_set_new(o, "slept_long", json_true());
	if (s->ticking)
		json_object_set_new(o, "ticking", json_integer(s->ticking));
	if (s->left)
		json_object_set_new(o, "left_unread", json_true());
	if (s->left && s->left_timed)
		json_object_set_new(o, "left_timed", json_true());
	if (s->passed)
		json_object_set_new(o, "own_threads_passed", json_true());
	if (s->put_off)
		json_object_set_new(o, "put_off", json_true());
	if (s->wrong_mask)
		json_object_set_new(o, "wrong_mask", json_true());
	if (s->wrote)
		json_object_set_new(o, "wrote", json_true());
	if (s->sent)
		json_object_set_new(o, "sent", json_true());
	if (s->unchecked)
		json_object_set_new(o, "unchecked", json_true());
	if (s->pooled)
		json_object_set_new(o, "free_list", json_true());
	if (s->decided)
		json_object_set_new(o, "so_far",
				    json_string(s->decided == DECIDED_PROVEN ? "proven" : "likely"));
	add_stack(o, l, s);
	json_line(out, o);
	s->said = d;
}
