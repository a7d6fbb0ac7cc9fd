// SPDX-License-Identifier: MIT
//
// Sets are read from the program's memory, where another thread may have written since the kernel
// made its copy. So a set counts as known only if its sum is the one that the hook saw at the entry
// (ctp/polled.h).
#include "engine/target/polled.h"

#include <stdlib.h>
#include <sys/syscall.h>

#include "ctp/polled.h"

enum { CHUNK = 512 };

enum polled_call polled_call(int64_t nr)
{
	switch (nr) {
#ifdef SYS_poll // what newer architectures do not have
	case SYS_poll:
		return POLLED_POLL;
	case SYS_select:
		return POLLED_SELECT;
#endif
	case SYS_ppoll:
		return POLLED_POLL;
	case SYS_pselect6:
		return POLLED_SELECT;
	}
	return POLLED_NONE;
}

static bool add(struct polled *s, size_t *room, int fd, unsigned events)
{
	if (s->n == *room) {
		size_t more = *room ? *room * 2 : 64;
		struct polled_item *v = realloc(s->v, more * sizeof(*v));
		if (!v)
			return false;
		s->v = v;
		*room = more;
	}
	s->v[s->n++] = (struct polled_item){fd, events};
	return true;
}

static bool read_poll(pid_t pid, const struct proc_task *t, struct polled *s)
{
	struct pollfd part[CHUNK];
	size_t room = 0;
	if (t->args[1] > CTP_FDS_MAX)
		return false;
	for (uint64_t at = 0; at < t->args[1]; at += CHUNK) {
		uint64_t n = t->args[1] - at < CHUNK ? t->args[1] - at : CHUNK;
		size_t bytes = n * sizeof(*part);
		if (proc_peek(pid, t->args[0] + at * sizeof(*part), part, bytes, false) != bytes)
			return false;
		for (uint64_t i = 0; i < n; i++)
			if (part[i].fd >= 0 && !add(s, &room, part[i].fd, (unsigned short)part[i].events))
				return false;
	}
	return true;
}

// The descriptors whose bits the word has, which begins at number `first`.
static bool add_word(struct polled *s, size_t *room, uint64_t word, int first, unsigned events)
{
	for (; word; word &= word - 1)
		if (!add(s, room, first + __builtin_ctzll(word), events))
			return false;
	return true;
}

// bits: of each set.
static bool read_select(pid_t pid, const struct proc_task *t, int bits, struct polled *s)
{
	uint64_t part[CHUNK], words = ctp_polled_words(bits);
	size_t room = 0;
	for (int k = 0; k < CTP_POLLED_SETS; k++)
		for (uint64_t at = 0; t->args[1 + k] && at < words; at += CHUNK) {
			uint64_t n = words - at < CHUNK ? words - at : CHUNK;
			if (proc_peek(pid, t->args[1 + k] + at * 8, part, n * 8, false) != n * 8)
				return false;
			for (uint64_t i = 0; i < n; i++)
				if (!add_word(s, &room, ctp_polled_word(part[i], bits, at + i),
					      (int)((at + i) * CTP_POLLED_BITS), ctp_polled_events(k)))
					return false;
		}
	return true;
}

void polled_read(pid_t pid, const struct proc_task *t, const struct ctp_thread *c, struct polled *out)
{
	enum polled_call call = polled_call(t->nr);
	*out = (struct polled){0};
	if (call == POLLED_NONE)
		return;
	int bits = (int)t->args[0];
	if (c && (uint64_t)bits > c->wait_buf_bytes * 8)
		bits = (int)(c->wait_buf_bytes * 8);
	out->read = call == POLLED_POLL ? read_poll(pid, t, out) :
					  bits <= (int)CTP_FDS_MAX && read_select(pid, t, bits, out);
	uint64_t sum = 0;
	for (size_t i = 0; c && i < out->n; i++)
		sum = ctp_polled_sum(sum, out->v[i].fd, out->v[i].events);
	out->known = c && out->read && sum == c->set_sum;
}

bool polled_has_for(const struct polled *s, int fd, unsigned events)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].fd == fd && (s->v[i].events & events))
			return true;
	return false;
}

bool polled_has(const struct polled *s, int fd)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].fd == fd)
			return true;
	return false;
}
