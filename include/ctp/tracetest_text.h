// SPDX-License-Identifier: MIT
//
// ctp/tracetest_text.h - part of ctp/tracetest.h: signals, streams' names and source lines as text. Nothing
// here is for others.
#ifndef CTP_TRACETEST_TEXT_H
#define CTP_TRACETEST_TEXT_H

#include <link.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <pthread.h>
#include <ctp/probe.h>

#define CTP_TEST_FN_ static inline __attribute__((unused))

struct ctp_test_text_ {
	char bytes[16384];
	size_t used;
};

// glibc's functions that strict C11 does not declare.
#ifdef __cplusplus
extern "C" {
#endif
extern long ctp_test_syscall_(long, ...) __asm__("syscall");
extern FILE *ctp_test_popen_(const char *, const char *) __asm__("popen");
extern int ctp_test_pclose_(FILE *) __asm__("pclose");
extern int ctp_test_clock_(int, struct timespec *) __asm__("clock_gettime");
extern int ctp_test_setclock_(pthread_condattr_t *, int) __asm__("pthread_condattr_setclock");
struct ctp_test_module_ { // the first fields of struct dl_phdr_info
	ElfW(Addr) at;
	const char *name;
	const ElfW(Phdr) * segments;
	ElfW(Half) count;
};
extern int ctp_test_modules_(int (*)(struct ctp_test_module_ *, size_t, void *),
			     void *) __asm__("dl_iterate_phdr");
#ifdef __cplusplus
}
#endif
#define CTP_TEST_MONOTONIC_ 1 // CLOCK_MONOTONIC

// ------------------------------------------------------------------ texts

CTP_TEST_FN_ __attribute__((format(printf, 2, 3))) void ctp_test_say_(struct ctp_test_text_ *t,
								      const char *format, ...)
{
	va_list args;
	int n;
	va_start(args, format);
	n = vsnprintf(t->bytes + t->used, sizeof(t->bytes) - t->used, format, args);
	va_end(args);
	if (n > 0)
		t->used += (size_t)n < sizeof(t->bytes) - t->used ? (size_t)n :
								    sizeof(t->bytes) - t->used - 1;
}

// One field's value as text. Returns how many bytes it has, cut to what there is room for.
CTP_TEST_FN_ size_t ctp_test_value_(const ctp_signal *s, unsigned field, char *to, size_t room)
{
	ctp_bytes b;
	const char *text;
	size_t i, used = 0;
	int n = 0;
	switch (s->event->kinds[field]) {
	case CTP_EVENT_SIGNED:
		n = snprintf(to, room, "%lld", (long long)ctp_signal_int(s, field));
		break;
	case CTP_EVENT_UNSIGNED:
		n = snprintf(to, room, "%llu", (unsigned long long)ctp_signal_int(s, field));
		break;
	case CTP_EVENT_FLOAT:
		n = snprintf(to, room, "%g", ctp_signal_float(s, field));
		break;
	case CTP_EVENT_POINTER:
		n = snprintf(to, room, "%p", (void *)(uintptr_t)s->words[field]);
		break;
	case CTP_EVENT_TEXT:
		text = ctp_signal_text(s, field);
		n = snprintf(to, room, "%.*s", CTP_EVENT_STRING, text ? text : "NULL");
		break;
	default:
		b = ctp_signal_bytes(s, field);
		for (i = 0; i < b.bytes && used + 3 <= room; i++, used += 2)
			snprintf(to + used, room - used, "%02x", ((const unsigned char *)b.at)[i]);
		n = (int)used;
		to[used] = 0;
	}
	return n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

// After the event's provider, name and file, its text has of each field the type and the name.
CTP_TEST_FN_ const char *ctp_test_field_(const struct ctp_event_info *e, unsigned field)
{
	const char *p = (const char *)(e + 1);
	unsigned i;
	for (i = 0; i < 4 + 2 * field; i++)
		p += strlen(p) + 1;
	return p;
}

// "conn {fd}" with the field's value in it. Braces around what is no field stay as they are.
CTP_TEST_FN_ void ctp_test_stream_(const ctp_signal *s, const char *with, char *to, size_t room)
{
	size_t used = 0, n;
	const char *end;
	unsigned i;
	while (*with && used + 1 < room) {
		end = *with == '{' ? strchr(with, '}') : NULL;
		n = end ? (size_t)(end - with - 1) : 0;
		for (i = 0; end && i < s->event->fields; i++)
			if (strlen(ctp_test_field_(s->event, i)) == n &&
			    memcmp(ctp_test_field_(s->event, i), with + 1, n) == 0)
				break;
		if (end && i < s->event->fields) {
			used += ctp_test_value_(s, i, to + used, room - used);
			with = end + 1;
		} else {
			to[used++] = *with++;
		}
	}
	to[used] = 0;
}

// ------------------------------------------------------------------ source lines

struct ctp_test_place_ {
	uintptr_t at, offset; // `offset`: as addr2line wants it
	char name[512];
};

CTP_TEST_FN_ int ctp_test_module_(struct ctp_test_module_ *m, size_t bytes, void *data)
{
	struct ctp_test_place_ *p = (struct ctp_test_place_ *)data;
	unsigned i;
	(void)bytes;
	for (i = 0; i < m->count; i++)
		if (m->segments[i].p_type == PT_LOAD &&
		    p->at - m->at - m->segments[i].p_vaddr < m->segments[i].p_memsz) {
			p->offset = p->at - m->at;
			if (m->name[0])
				snprintf(p->name, sizeof(p->name), "%s", m->name);
			else
				snprintf(p->name, sizeof(p->name), "/proc/%ld/exe",
					 ctp_test_syscall_(SYS_getpid));
			return 1;
		}
	return 0;
}

// Says the first lines of the stack above libctp and above the event's own function.
CTP_TEST_FN_ void ctp_test_stack_(struct ctp_test_text_ *t, void *const *frames, int depth)
{
	struct ctp_test_place_ p;
	char command[640], name[256], line[512];
	FILE *f;
	int i, inside = 0, said = 0;
	for (i = 1; i < depth && said < 3; i++) {
		p.at = (uintptr_t)frames[i] - 1; // the call, not where it returns to
		if (!ctp_test_modules_(ctp_test_module_, &p))
			continue;
		if (strstr(p.name, "/libctp.so") || !inside) {
			inside |= strstr(p.name, "/libctp.so") != NULL;
			continue;
		}
		if (strstr(p.name, "/libc.so"))
			return; // what starts threads
		snprintf(command, sizeof(command), "addr2line -Cfe '%s' 0x%lx 2>/dev/null", p.name,
			 (unsigned long)p.offset);
		f = strchr(p.name, '\'') ? NULL : ctp_test_popen_(command, "r");
		name[0] = line[0] = 0;
		if (f && (!fgets(name, sizeof(name), f) || !fgets(line, sizeof(line), f)))
			line[0] = 0;
		if (f)
			ctp_test_pclose_(f);
		name[strcspn(name, "\n(")] = 0;
		line[strcspn(line, " \n")] = 0;
		if (strncmp(name, "ctp_event_put_", 14) == 0)
			continue;
		if (line[0] && line[0] != '?')
			ctp_test_say_(t, "      %s (%s)\n", line, name);
		else if (!said)
			ctp_test_say_(t, "      %s+0x%lx (no source line: -g, addr2line?)\n", p.name,
				      (unsigned long)p.offset);
		else
			break;
		said++;
	}
}

#endif
