// SPDX-License-Identifier: MIT
//
// ctp/probe.h - functions that are called where an event of ctp/event.h is signalled.
//
//	static void on_request(const ctp_signal *s, void *data)
//	{
//		printf("%s: %d\n", ctp_signal_text(s, 0), (int)ctp_signal_int(s, 1));
//	}
//	...
//	ctp_probe_group group = {0};
//	ctp_probe *p = ctp_probe_attach(&group, "http", "request", on_request, data);
//	ctp_probe_detach(p);  or, all of them:  ctp_probe_group_done(&group);
//
// With types, for an event that another file or module defines:
//
//	CTP_EVENT_IMPORT(http, request, (const char *, path), (int, status));
//	static void on_request(void *data, const char *path, int status);
//	...
//	ctp_probe_import(&group, http, request, on_request, data);
//
// A probe runs in the thread and coroutine that signals, on its stack; that goes on when the probe returns. A
// probe returns: it does not throw, longjmp, or end its thread. It may signal events (also its own: it is
// called again), switch coroutines, fork, attach and detach probes, itself among them. Probes attach and
// detach at any time, from any thread, but not in a signal handler. Several may be attached to one event;
// they are called in no order that is promised. A library that is loaded later brings its events to the
// probes that wait.
//
// There is nothing to link: libctp.so (ctp-run) calls the probes. In a program that runs without, attach
// returns NULL with ENOSYS.
#ifndef CTP_PROBE_H
#define CTP_PROBE_H

#include <errno.h>
#include <ctp/event.h>

#define CTP_PROBE_MOST 64        // probes that may be attached at once
#define CTP_PROBE_CALLS_MOST 256 // calls of one probe that may be under way at once
#define CTP_PROBE_NAME_BYTES 64  // of a provider, of an event; with the zero at its end

// An event that is being signalled: field i is words[i], as ctp/event.h has it.
typedef struct ctp_signal {
	const struct ctp_event_info *event;
	const uint64_t *words;
} ctp_signal;

typedef struct ctp_probe ctp_probe; // a handle: it points to nothing

typedef struct ctp_probe_group {
	char unused; // its address is what counts
} ctp_probe_group;

typedef void ctp_probe_function(const ctp_signal *signal, void *data);

// What libctp is asked for.
struct ctp_probe_wish {
	uint32_t bytes;  // of this struct
	uint32_t fields; // CTP_PROBE_ANY: whatever they are
	const char *provider, *name;
	const unsigned char *kinds, *sizes;
	ctp_probe_function *call;
	void *data;
	void (*typed)(void); // NULL, or what `call` is to call (it gets this wish's address as data)
	const ctp_probe_group *group;
};
#define CTP_PROBE_ANY 0xffffffffu

// ------------------------------------------------------------------ what a signal says

static inline __attribute__((unused)) int64_t ctp_signal_int(const ctp_signal *s, unsigned field)
{
	unsigned size = s->event->sizes[field], left = size < 8 ? 64 - 8 * size : 0;
	uint64_t w = s->words[field] << left;
	return s->event->kinds[field] == CTP_EVENT_SIGNED ? (int64_t)w >> left : (int64_t)(w >> left);
}

static inline __attribute__((unused)) double ctp_signal_float(const ctp_signal *s, unsigned field)
{
	double d;
	float f;
	if (s->event->sizes[field] == sizeof(d)) {
		__builtin_memcpy(&d, &s->words[field], sizeof(d));
		return d;
	}
	__builtin_memcpy(&f, &s->words[field], sizeof(f));
	return (double)f;
}

// The program's own text, not a copy; NULL where it signalled NULL.
static inline __attribute__((unused)) const char *ctp_signal_text(const ctp_signal *s, unsigned field)
{
	return (const char *)(uintptr_t)s->words[field];
}

static inline __attribute__((unused)) const void *ctp_signal_pointer(const ctp_signal *s, unsigned field)
{
	return (const void *)(uintptr_t)s->words[field];
}

static inline __attribute__((unused)) ctp_bytes ctp_signal_bytes(const ctp_signal *s, unsigned field)
{
	return *(const ctp_bytes *)(uintptr_t)s->words[field];
}

// ------------------------------------------------------------------ attach, detach

#if CTP_EVENT_LIVE
// libctp's function of that name, or NULL: by way of the GOT, as libctp may not be there.
#ifdef __x86_64__
#define CTP_PROBE_FIND_(symbol, f) \
	__asm__(".weak " symbol "\n\tmovq " symbol "@GOTPCREL(%%rip), %0" : "=r"(f))
#else
#define CTP_PROBE_FIND_(symbol, f) \
	__asm__(".weak " symbol "\n\tadrp %0, :got:" symbol "\n\tldr %0, [%0, :got_lo12:" symbol "]" \
		: "=r"(f))
#endif
#else
#define CTP_PROBE_FIND_(symbol, f) (f) = NULL
#endif

static inline __attribute__((unused)) ctp_probe *ctp_probe_wish_(const struct ctp_probe_wish *w)
{
	ctp_probe *(*f)(const struct ctp_probe_wish *, int *);
	ctp_probe *p;
	int e = ENOSYS;
	CTP_PROBE_FIND_("ctp_probe_begin", f);
	p = f ? f(w, &e) : NULL;
	if (!p)
		errno = e;
	return p;
}

// NULL, with errno:
//	ENOSYS		libctp is not there, or records nothing here
//	ENOENT		no event of that name is defined in what is mapped now
//	EPROTOTYPE	one is, but its fields have other types (ctp_probe_import)
//	ENOSPC		CTP_PROBE_MOST are attached
//	EINVAL		a name is too long, or NULL
static inline __attribute__((unused)) ctp_probe *ctp_probe_attach(const ctp_probe_group *group,
								  const char *provider, const char *name,
								  ctp_probe_function *function, void *data)
{
	struct ctp_probe_wish w;
	w.bytes = sizeof(w);
	w.fields = CTP_PROBE_ANY;
	w.provider = provider;
	w.name = name;
	w.kinds = w.sizes = NULL;
	w.call = function;
	w.data = data;
	w.typed = NULL;
	w.group = group;
	return ctp_probe_wish_(&w);
}

// When this returns, no call of the probe is under way or will begin, but for those in which the caller
// itself is. In a child made by fork, calls that began before the fork are not waited for. Returns how many
// calls were not made because CTP_PROBE_CALLS_MOST were under way; or
//	-ESRCH		no such probe is attached (any more)
//	-EDEADLK	it is detached; a coroutine that this very thread had run is suspended in a call
static inline __attribute__((unused)) long ctp_probe_detach(ctp_probe *p)
{
	long (*f)(ctp_probe *);
	CTP_PROBE_FIND_("ctp_probe_end", f);
	return f ? f(p) : -ESRCH;
}

// Detaches all probes of the group; 0, or what a detach said that did not succeed.
static inline __attribute__((unused)) long ctp_probe_group_done(const ctp_probe_group *group)
{
	long (*f)(const ctp_probe_group *);
	CTP_PROBE_FIND_("ctp_probe_end_group", f);
	return f ? f(group) : 0;
}

// ------------------------------------------------------------------ by name and signature

// What a typed call needs: libctp keeps it, and gives it as `data`.
struct ctp_probe_typed_ {
	void (*function)(void);
	void *data;
};

#define CTP_IMPORT_TAKE_(i, f) \
	CTP_EVENT_T_ f CTP_EVENT_N_ f = CTP_IMPORT_VALUE_(CTP_EVENT_T_ f, ctp_signal_, i);
#define CTP_IMPORT_PASS_(i, f) CTP_EVENT_N_ f
#ifdef __cplusplus
extern "C++" {
template <typename T> static inline T ctp_import_value_(uint64_t word, T *)
{
	T t;
	__builtin_memcpy(&t, &word, sizeof(t));
	return t;
}
static inline __attribute__((unused)) ctp_bytes ctp_import_value_(uint64_t word, ctp_bytes *)
{
	return *(const ctp_bytes *)(uintptr_t)word;
}
template <typename T> struct ctp_import_plain_ {
	typedef T type;
};
template <typename T> struct ctp_import_plain_<const T> {
	typedef T type;
};
}
#define CTP_IMPORT_VALUE_(T, s, i) ctp_import_value_((s)->words[i], (ctp_import_plain_<T>::type *)0)
#else
#define CTP_IMPORT_VALUE_(T, s, i) \
	(*(T *)(CTP_EVENT_KIND_(T) == CTP_EVENT_BYTES ? (void *)(uintptr_t)(s)->words[i] : \
							(void *)(uintptr_t) & (s)->words[i]))
#endif

#define CTP_IMPORT_0(p, n) \
	typedef void ctp_import_fn_##p##_##n(void *); \
	static inline __attribute__((unused)) void ctp_import_call_##p##_##n(const ctp_signal *ctp_signal_, \
									     void *ctp_to_) \
	{ \
		const struct ctp_probe_typed_ *ctp_t_ = (const struct ctp_probe_typed_ *)ctp_to_; \
		(void)ctp_signal_; \
		((ctp_import_fn_##p##_##n *)ctp_t_->function)(ctp_t_->data); \
	} \
	CTP_IMPORT_WISH_(p, n, 0, 0, 0)

#define CTP_IMPORT_N(p, n, ...) \
	typedef void ctp_import_fn_##p##_##n( \
		void *, CTP_EVENT_EACH_(CTP_EVENT_PARAM_, CTP_EVENT_COMMA_, __VA_ARGS__)); \
	static inline __attribute__((unused)) void ctp_import_call_##p##_##n(const ctp_signal *ctp_signal_, \
									     void *ctp_to_) \
	{ \
		const struct ctp_probe_typed_ *ctp_t_ = (const struct ctp_probe_typed_ *)ctp_to_; \
		CTP_EVENT_EACH_(CTP_IMPORT_TAKE_, CTP_EVENT_NOTHING_, __VA_ARGS__) \
		((ctp_import_fn_##p##_##n *)ctp_t_->function)( \
			ctp_t_->data, CTP_EVENT_EACH_(CTP_IMPORT_PASS_, CTP_EVENT_COMMA_, __VA_ARGS__)); \
	} \
	CTP_IMPORT_WISH_(p, n, CTP_EVENT_NUMBER_(__VA_ARGS__), \
			 CTP_IMPORT_LIST_(CTP_EVENT_EACH_(CTP_EVENT_CODE_, CTP_EVENT_COMMA_, __VA_ARGS__)), \
			 CTP_IMPORT_LIST_(CTP_EVENT_EACH_(CTP_EVENT_SIZE_, CTP_EVENT_COMMA_, __VA_ARGS__)))
#define CTP_IMPORT_LIST_(...) __VA_ARGS__
#define CTP_IMPORT_WISH_(p, n, ...) CTP_IMPORT_WISH2_(p, n, __VA_ARGS__)
#define CTP_IMPORT_WISH2_(p, n, count, ...) \
	static inline __attribute__((unused)) ctp_probe *ctp_import_attach_##p##_##n( \
		const ctp_probe_group *group, ctp_import_fn_##p##_##n *function, void *data) \
	{ \
		static const unsigned char both[] = {__VA_ARGS__}; \
		struct ctp_probe_wish w; \
		w.bytes = sizeof(w); \
		w.fields = count; \
		w.provider = #p; \
		w.name = #n; \
		w.kinds = both; \
		w.sizes = both + count; \
		w.call = ctp_import_call_##p##_##n; \
		w.data = data; \
		w.typed = (void (*)(void))function; \
		w.group = group; \
		return ctp_probe_wish_(&w); \
	} \
	struct ctp_event_end_

// At file scope: an event as somebody else defines it. Names of fields may differ, types may not.
#define CTP_EVENT_IMPORT(provider, ...) \
	CTP_EVENT_CAT_(CTP_IMPORT_, CTP_EVENT_MORE_(__VA_ARGS__))(provider, __VA_ARGS__)
#define ctp_probe_import(group, provider, name, function, data) \
	ctp_import_attach_##provider##_##name(group, function, data)

#endif
