// SPDX-License-Identifier: MIT
//
// ctp/event.h - events of the program's own.
//
//	#include <ctp/event.h>
//	CTP_EVENT(http, request, (const char *, path), (int, status));
//	...
//	ctp_event(http, request, path, 200);
//
// CTP_EVENT stands at file scope, in a source file or in a header; it defines the event `request` of the
// provider `http`, with typed fields, at most 12. ctp_event signals it: where nobody listens that is two
// instructions, and the arguments are not evaluated. Nothing is to be linked: ctp-run (libctp.so) finds the
// definitions in the program and its libraries, and so do tools that read USDT probes (perf, bpftrace, gdb).
//
// A field is an integer, bool, an enumeration, float, double, a pointer (its value), a string (char *,
// copied, at most 256 bytes; a longer one ends in "..."), or bytes: (ctp_bytes, data), signalled as
// ctp_bytes_of(p, n).
//
// C11 or C++11, gcc or clang, x86_64 and aarch64; elsewhere events are checked by the compiler, and do
// nothing. In C, a function that signals events and lies in a header is `static inline`.
#ifndef CTP_EVENT_H
#define CTP_EVENT_H

#include <stddef.h>
#include <stdint.h>

#define CTP_EVENT_FIELDS 12
#define CTP_EVENT_STRING 256 // most bytes of a string, or of bytes, that are kept

typedef struct ctp_bytes {
	const void *at;
	size_t bytes;
} ctp_bytes;

enum ctp_event_kind_ {
	CTP_EVENT_SIGNED = 1,
	CTP_EVENT_UNSIGNED = 2,
	CTP_EVENT_FLOAT = 3,
	CTP_EVENT_POINTER = 4,
	CTP_EVENT_TEXT = 5,
	CTP_EVENT_BYTES = 6
};

// What stands in the ELF section `ctp_events`, followed by text: provider, name, file, and of each field
// its type and its name, each with a zero at its end.
struct ctp_event_info {
	union {
		uint32_t enabled; // not 0: somebody listens
		struct {
			uint16_t semaphore; // USDT's: how many tracers
			uint16_t on;        // libctp's
		} by;
	} u;
	uint16_t bytes; // of this and its text
	uint8_t version, fields;
	char magic[8];
	void (*signal)(struct ctp_event_info *event, const uint64_t *words); // valid while `on` is not 0
	uint32_t row;                                                        // libctp's
	uint32_t line;
	uint8_t kinds[CTP_EVENT_FIELDS], sizes[CTP_EVENT_FIELDS];
};
#define CTP_EVENT_MAGIC "CTPEVNT"
#define CTP_EVENT_VERSION 1
#define CTP_EVENT_ON_RECORDED 0x1u
#define CTP_EVENT_ON_PROBED 0x2u

#ifdef __cplusplus
#define CTP_EVENT_INIT_(x) \
	{ \
		x \
	}
static inline ctp_bytes ctp_bytes_of(const void *at, size_t bytes)
{
	ctp_bytes b = {at, bytes};
	return b;
}
extern "C++" {
template <typename T, bool is_enum = __is_enum(T)> struct ctp_event_type_;
template <typename T> struct ctp_event_type_<T, true> {
	enum { kind = (__underlying_type(T))(-1) < 0 ? CTP_EVENT_SIGNED : CTP_EVENT_UNSIGNED };
};
template <typename T, bool e> struct ctp_event_type_<const T, e> : ctp_event_type_<T, e> {
};
template <typename T, bool e> struct ctp_event_type_<volatile T, e> : ctp_event_type_<T, e> {
};
template <typename T> struct ctp_event_type_<const T, true> : ctp_event_type_<T, true> {
};
template <typename T> struct ctp_event_type_<T *, false> {
	enum { kind = CTP_EVENT_POINTER };
};
#define CTP_EVENT_TYPE_(T, k) \
	template <> struct ctp_event_type_<T, false> { \
		enum { kind = k }; \
	};
CTP_EVENT_TYPE_(bool, CTP_EVENT_UNSIGNED)
CTP_EVENT_TYPE_(char, char(-1) < 0 ? CTP_EVENT_SIGNED : CTP_EVENT_UNSIGNED)
CTP_EVENT_TYPE_(wchar_t, CTP_EVENT_UNSIGNED)
CTP_EVENT_TYPE_(char16_t, CTP_EVENT_UNSIGNED)
CTP_EVENT_TYPE_(char32_t, CTP_EVENT_UNSIGNED)
CTP_EVENT_TYPE_(signed char, CTP_EVENT_SIGNED)
CTP_EVENT_TYPE_(short, CTP_EVENT_SIGNED)
CTP_EVENT_TYPE_(int, CTP_EVENT_SIGNED)
CTP_EVENT_TYPE_(long, CTP_EVENT_SIGNED)
CTP_EVENT_TYPE_(long long, CTP_EVENT_SIGNED)
CTP_EVENT_TYPE_(unsigned char, CTP_EVENT_UNSIGNED)
CTP_EVENT_TYPE_(unsigned short, CTP_EVENT_UNSIGNED)
CTP_EVENT_TYPE_(unsigned, CTP_EVENT_UNSIGNED)
CTP_EVENT_TYPE_(unsigned long, CTP_EVENT_UNSIGNED)
CTP_EVENT_TYPE_(unsigned long long, CTP_EVENT_UNSIGNED)
CTP_EVENT_TYPE_(float, CTP_EVENT_FLOAT)
CTP_EVENT_TYPE_(double, CTP_EVENT_FLOAT)
CTP_EVENT_TYPE_(char *, CTP_EVENT_TEXT)
CTP_EVENT_TYPE_(const char *, CTP_EVENT_TEXT)
CTP_EVENT_TYPE_(ctp_bytes, CTP_EVENT_BYTES)
#undef CTP_EVENT_TYPE_
}
#define CTP_EVENT_KIND_(T) ((unsigned char)ctp_event_type_<T>::kind)
#define CTP_EVENT_ASSERT_ static_assert
#else
#define CTP_EVENT_INIT_(x) x
static inline ctp_bytes ctp_bytes_of(const void *at, size_t bytes)
{
	return (ctp_bytes){at, bytes};
}
#define CTP_EVENT_KIND_(T) \
	(_Generic(*(T *)0, \
		_Bool: CTP_EVENT_UNSIGNED, \
		char: (char)-1 < 0 ? CTP_EVENT_SIGNED : CTP_EVENT_UNSIGNED, \
		signed char: CTP_EVENT_SIGNED, \
		short: CTP_EVENT_SIGNED, \
		int: CTP_EVENT_SIGNED, \
		long: CTP_EVENT_SIGNED, \
		long long: CTP_EVENT_SIGNED, \
		unsigned char: CTP_EVENT_UNSIGNED, \
		unsigned short: CTP_EVENT_UNSIGNED, \
		unsigned: CTP_EVENT_UNSIGNED, \
		unsigned long: CTP_EVENT_UNSIGNED, \
		unsigned long long: CTP_EVENT_UNSIGNED, \
		float: CTP_EVENT_FLOAT, \
		double: CTP_EVENT_FLOAT, \
		long double: 0, \
		char *: CTP_EVENT_TEXT, \
		const char *: CTP_EVENT_TEXT, \
		ctp_bytes: CTP_EVENT_BYTES, \
		default: CTP_EVENT_POINTER))
#define CTP_EVENT_ASSERT_ _Static_assert
#endif

// A value as libctp gets it: in 64 bits; of bytes, where their ctp_bytes lies.
static inline __attribute__((always_inline, unused)) uint64_t ctp_event_word_(unsigned kind, size_t size,
									      const void *at)
{
	uint64_t w = 0;
	if (kind == CTP_EVENT_BYTES)
		return (uint64_t)(uintptr_t)at;
	__builtin_memcpy(&w, at, size < 8 ? size : 8);
	return w;
}

// ------------------------------------------------------------------ for each of up to 12 things

// What follows a name: 0, nothing; N, up to 12 things.
#define CTP_EVENT_MORE_(...) CTP_EVENT_MORE2_(__VA_ARGS__, N, N, N, N, N, N, N, N, N, N, N, N, 0, 0)
#define CTP_EVENT_MORE2_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, ...) n
#define CTP_EVENT_NUMBER_(...) CTP_EVENT_NUMBER2_(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define CTP_EVENT_NUMBER2_(a, b, c, d, e, f, g, h, i, j, k, l, n, ...) n
#define CTP_EVENT_CAT_(a, b) CTP_EVENT_CAT2_(a, b)
#define CTP_EVENT_CAT2_(a, b) a##b
#define CTP_EVENT_E1_(m, s, a) m(0, a)
#define CTP_EVENT_E2_(m, s, a, b) m(0, a) s() m(1, b)
#define CTP_EVENT_E3_(m, s, a, b, c) CTP_EVENT_E2_(m, s, a, b) s() m(2, c)
#define CTP_EVENT_E4_(m, s, a, b, c, d) CTP_EVENT_E3_(m, s, a, b, c) s() m(3, d)
#define CTP_EVENT_E5_(m, s, a, b, c, d, e) CTP_EVENT_E4_(m, s, a, b, c, d) s() m(4, e)
#define CTP_EVENT_E6_(m, s, a, b, c, d, e, f) CTP_EVENT_E5_(m, s, a, b, c, d, e) s() m(5, f)
#define CTP_EVENT_E7_(m, s, a, b, c, d, e, f, g) CTP_EVENT_E6_(m, s, a, b, c, d, e, f) s() m(6, g)
#define CTP_EVENT_E8_(m, s, a, b, c, d, e, f, g, h) CTP_EVENT_E7_(m, s, a, b, c, d, e, f, g) s() m(7, h)
#define CTP_EVENT_E9_(m, s, a, b, c, d, e, f, g, h, i) CTP_EVENT_E8_(m, s, a, b, c, d, e, f, g, h) s() m(8, i)
#define CTP_EVENT_E10_(m, s, a, b, c, d, e, f, g, h, i, j) \
	CTP_EVENT_E9_(m, s, a, b, c, d, e, f, g, h, i) s() m(9, j)
#define CTP_EVENT_E11_(m, s, a, b, c, d, e, f, g, h, i, j, k) \
	CTP_EVENT_E10_(m, s, a, b, c, d, e, f, g, h, i, j) s() m(10, k)
#define CTP_EVENT_E12_(m, s, a, b, c, d, e, f, g, h, i, j, k, l) \
	CTP_EVENT_E11_(m, s, a, b, c, d, e, f, g, h, i, j, k) s() m(11, l)
#define CTP_EVENT_EACH_(m, s, ...) \
	CTP_EVENT_CAT_(CTP_EVENT_CAT_(CTP_EVENT_E, CTP_EVENT_NUMBER_(__VA_ARGS__)), _)(m, s, __VA_ARGS__)
#define CTP_EVENT_COMMA_() ,
#define CTP_EVENT_NOTHING_()
#define CTP_EVENT_T_(t, n) t
#define CTP_EVENT_N_(t, n) n
#define CTP_EVENT_PARAM_(i, f) CTP_EVENT_T_ f CTP_EVENT_N_ f
#define CTP_EVENT_CODE_(i, f) CTP_EVENT_KIND_(CTP_EVENT_T_ f)
#define CTP_EVENT_SIZE_(i, f) (unsigned char)sizeof(CTP_EVENT_T_ f)
#define CTP_EVENT_LABEL_(i, f) CTP_EVENT_LABEL2_ f
#define CTP_EVENT_LABEL2_(t, n) #t "\0" #n "\0"
#define CTP_EVENT_WORD_(i, f) \
	ctp_event_word_(CTP_EVENT_KIND_(CTP_EVENT_T_ f), sizeof(CTP_EVENT_T_ f), &(CTP_EVENT_N_ f))
#define CTP_EVENT_CHECK_(i, f) \
	CTP_EVENT_ASSERT_( \
		CTP_EVENT_KIND_(CTP_EVENT_T_ f) && \
			(sizeof(CTP_EVENT_T_ f) <= 8 || CTP_EVENT_KIND_(CTP_EVENT_T_ f) == CTP_EVENT_BYTES), \
		"a field of an event is an integer, an enumeration, float, double, a pointer, " \
		"char * or ctp_bytes");

// ------------------------------------------------------------------ what depends on the CPU

// UNLESS_OFF: a comparison with the word in the descriptor, and a branch past the call. NOTES: where the
// descriptor is, for libctp; and a probe in the manner of USDT, whose section `.probes` tells perf where in
// the file a semaphore lies: it need hold nothing
// (sourceware.org/systemtap/wiki/UserSpaceProbeImplementation).
#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(__ILP32__)
#define CTP_EVENT_LIVE 1
#ifdef __x86_64__
#define CTP_EVENT_SYMBOL_ "i"
#define CTP_EVENT_OPERAND_ "norx"
#define CTP_EVENT_BRANCH_(p, n, jump, to) \
	__asm__ goto("cmpl $0, %c0(%%rip)\n\t" jump " %l[" #to "]" \
		     : \
		     : "i"(&ctp_event_at_##p##_##n) \
		     : "cc" \
		     : to)
#ifndef __clang__ // which takes every label of a function for a target of this one
#define CTP_EVENT_UNLESS_OFF_(p, n, call) \
	__extension__({ \
		__label__ ctp_off_; \
		CTP_EVENT_BRANCH_(p, n, "je", ctp_off_); \
		call; \
	ctp_off_:; \
	})
#elif !defined(__OPTIMIZE__) // two instructions as well
#define CTP_EVENT_UNLESS_OFF_(p, n, call) \
	__extension__({ \
		if (ctp_event_at_##p##_##n.info.u.enabled) \
			call; \
	})
#endif
#define CTP_EVENT_DEFINE_ON_(p, n) \
	static inline __attribute__((always_inline, unused)) int ctp_event_on_##p##_##n(void) \
	{ \
		CTP_EVENT_BRANCH_(p, n, "jne", ctp_on); \
		return 0; \
	ctp_on: \
		return 1; \
	}
#else
#define CTP_EVENT_SYMBOL_ "S"
#define CTP_EVENT_OPERAND_ "nor"
#define CTP_EVENT_DEFINE_ON_(p, n) \
	static inline __attribute__((always_inline, unused)) int ctp_event_on_##p##_##n(void) \
	{ \
		return __atomic_load_n(&ctp_event_at_##p##_##n.info.u.enabled, __ATOMIC_RELAXED) != 0; \
	}
#endif
// A probe's argument: its size, below 0 if it has a sign, "f" if it is a float; and where it is.
#define CTP_EVENT_SDT_ARG_(i, f) \
	"\t.if %c[s" #i "_] == 104\n\t.ascii \"4f\"\n\t.elseif %c[s" #i "_] == 108\n\t.ascii \"8f\"\n" \
	"\t.else\n\t.ascii \"%c[s" #i "_]\"\n\t.endif\n" \
	"\t.ascii \"@%[v" #i "_] \"\n"
#define CTP_EVENT_SDT_SIZE_(k, T) \
	((int)(k == CTP_EVENT_BYTES ? 8 : sizeof(T)) * (k == CTP_EVENT_SIGNED ? -1 : 1) + \
	 (k == CTP_EVENT_FLOAT ? 100 : 0))
#define CTP_EVENT_SDT_OPERAND_(i, f) \
	[s##i##_] "i"(CTP_EVENT_SDT_SIZE_(CTP_EVENT_KIND_(CTP_EVENT_T_ f), CTP_EVENT_T_ f)), \
		[v##i##_] CTP_EVENT_OPERAND_(CTP_EVENT_SDT_VALUE_(CTP_EVENT_T_ f, CTP_EVENT_N_ f))
#ifdef __cplusplus
extern "C++" {
template <typename T> static inline __attribute__((always_inline)) T ctp_event_value_(T v)
{
	return v;
}
static inline __attribute__((always_inline)) const void *ctp_event_value_(ctp_bytes v)
{
	return v.at;
}
}
#define CTP_EVENT_SDT_VALUE_(T, n) ctp_event_value_(n)
#else
static inline __attribute__((always_inline, unused)) const void *ctp_event_at_(const void *bytes)
{
	return ((const ctp_bytes *)bytes)->at;
}
#define CTP_EVENT_SDT_VALUE_(T, n) _Generic((n), ctp_bytes : ctp_event_at_(&(n)), default : (n))
#endif
#define CTP_EVENT_NOTES_(p, n, arguments, ...) \
	__asm__ volatile("990:\tnop\n" \
			 "\t.pushsection .note.ctp,\"a?\",\"note\"\n" \
			 "\t.balign 4\n\t.4byte 4, 8, 1\n\t.asciz \"CTP\"\n" \
			 "991:\t.8byte %c[ctp_] - 991b\n" \
			 "\t.popsection\n" \
			 "\t.pushsection .note.stapsdt,\"?\",\"note\"\n" \
			 "\t.balign 4\n\t.4byte 992f - 991f, 994f - 993f, 3\n" \
			 "991:\t.asciz \"stapsdt\"\n992:\t.balign 4\n" \
			 "993:\t.8byte 990b, _.stapsdt.base, %c[ctp_]\n" \
			 "\t.asciz \"" #p "\"\n\t.asciz \"" #n "\"\n" arguments "\t.byte 0\n" \
			 "994:\t.balign 4\n" \
			 "\t.popsection\n" \
			 "\t.ifndef _.stapsdt.base\n" \
			 "\t.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
			 "\t.weak _.stapsdt.base\n\t.hidden _.stapsdt.base\n" \
			 "_.stapsdt.base:\t.space 1\n\t.size _.stapsdt.base, 1\n" \
			 "\t.popsection\n" \
			 "\t.pushsection .probes,\"awG\",\"progbits\",.stapsdt.base,comdat\n" \
			 "\t.balign 2\n\t.2byte 0\n" \
			 "\t.popsection\n\t.endif" \
			 : \
			 : __VA_ARGS__)
#define CTP_EVENT_ITSELF_(p, n) [ctp_] CTP_EVENT_SYMBOL_(&ctp_event_at_##p##_##n)
#else
#define CTP_EVENT_LIVE 0
#define CTP_EVENT_NOTES_(p, n, ...) (void)0
#define CTP_EVENT_DEFINE_ON_(p, n) \
	static inline __attribute__((always_inline, unused)) int ctp_event_on_##p##_##n(void) \
	{ \
		return 0; \
	}
#endif

// ------------------------------------------------------------------ libraries that come by dlopen

#if CTP_EVENT_LIVE
// Says that this module is there, before its other constructors run. By way of the GOT, as libctp may not be
// there.
static __attribute__((constructor(101), unused)) void ctp_event_mapped_(void)
{
	void (*mapped)(void);
#ifdef __x86_64__
	__asm__(".weak ctp_events_mapped\n\tmovq ctp_events_mapped@GOTPCREL(%%rip), %0" : "=r"(mapped));
#else
	__asm__(".weak ctp_events_mapped\n\tadrp %0, :got:ctp_events_mapped\n\t"
		"ldr %0, [%0, :got_lo12:ctp_events_mapped]"
		: "=r"(mapped));
#endif
	if (mapped)
		mapped();
}
#endif

// ------------------------------------------------------------------ defining

#define CTP_EVENT_DEFINE_AT_(p, n, count, labels, codes, sizes_) \
	__attribute__((section("ctp_events"), aligned(8), unused)) static struct { \
		struct ctp_event_info info; \
		char text[sizeof(#p "\0" #n "\0" __FILE__ "\0" labels)]; \
	} ctp_event_at_##p##_##n = {{{0}, \
				     (uint16_t)((sizeof(struct ctp_event_info) + \
						 sizeof(#p "\0" #n "\0" __FILE__ "\0" labels) + 7) & \
						~7u), \
				     CTP_EVENT_VERSION, \
				     count, \
				     CTP_EVENT_MAGIC, \
				     NULL, \
				     0, \
				     __LINE__, \
				     {codes}, \
				     {sizes_}}, \
				    #p "\0" #n "\0" __FILE__ "\0" labels}

// Out of the way, and not there where nobody calls it: without optimisation only an inline function goes.
#ifdef __OPTIMIZE__
#define CTP_EVENT_APART_ static __attribute__((noinline, cold, unused))
#else
#define CTP_EVENT_APART_ static inline __attribute__((unused))
#endif

#define CTP_EVENT_SIGNAL_(p, n, words) \
	do { \
		if (__atomic_load_n(&ctp_event_at_##p##_##n.info.u.by.on, __ATOMIC_ACQUIRE)) \
			ctp_event_at_##p##_##n.info.signal(&ctp_event_at_##p##_##n.info, words); \
	} while (0)

#define CTP_EVENT_DEFINE_0(p, n) \
	CTP_EVENT_DEFINE_AT_(p, n, 0, "", 0, 0); \
	CTP_EVENT_DEFINE_ON_(p, n) \
	CTP_EVENT_APART_ void ctp_event_put_##p##_##n(void) \
	{ \
		CTP_EVENT_NOTES_(p, n, "", CTP_EVENT_ITSELF_(p, n)); \
		CTP_EVENT_SIGNAL_(p, n, NULL); \
	} \
	struct ctp_event_end_

#define CTP_EVENT_DEFINE_N(p, n, ...) \
	CTP_EVENT_DEFINE_AT_(p, n, CTP_EVENT_NUMBER_(__VA_ARGS__), \
			     CTP_EVENT_EACH_(CTP_EVENT_LABEL_, CTP_EVENT_NOTHING_, __VA_ARGS__), \
			     CTP_EVENT_EACH_(CTP_EVENT_CODE_, CTP_EVENT_COMMA_, __VA_ARGS__), \
			     CTP_EVENT_EACH_(CTP_EVENT_SIZE_, CTP_EVENT_COMMA_, __VA_ARGS__)); \
	CTP_EVENT_EACH_(CTP_EVENT_CHECK_, CTP_EVENT_NOTHING_, __VA_ARGS__) \
	CTP_EVENT_DEFINE_ON_(p, n) \
	CTP_EVENT_APART_ void ctp_event_put_##p##_##n( \
		CTP_EVENT_EACH_(CTP_EVENT_PARAM_, CTP_EVENT_COMMA_, __VA_ARGS__)) \
	{ \
		const uint64_t ctp_words_[] = { \
			CTP_EVENT_EACH_(CTP_EVENT_WORD_, CTP_EVENT_COMMA_, __VA_ARGS__)}; \
		CTP_EVENT_NOTES_(p, n, CTP_EVENT_EACH_(CTP_EVENT_SDT_ARG_, CTP_EVENT_NOTHING_, __VA_ARGS__), \
				 CTP_EVENT_ITSELF_(p, n), \
				 CTP_EVENT_EACH_(CTP_EVENT_SDT_OPERAND_, CTP_EVENT_COMMA_, __VA_ARGS__)); \
		CTP_EVENT_SIGNAL_(p, n, ctp_words_); \
	} \
	struct ctp_event_end_

#define CTP_EVENT(provider, ...) \
	CTP_EVENT_CAT_(CTP_EVENT_DEFINE_, CTP_EVENT_MORE_(__VA_ARGS__))(provider, __VA_ARGS__)

// ------------------------------------------------------------------ signalling

#ifndef CTP_EVENT_UNLESS_OFF_
#define CTP_EVENT_UNLESS_OFF_(p, n, call) (__builtin_expect(ctp_event_on_##p##_##n(), 0) ? call : (void)0)
#endif
#define CTP_EVENT_CALL_0(p, n) CTP_EVENT_UNLESS_OFF_(p, n, ctp_event_put_##p##_##n())
#define CTP_EVENT_CALL_N(p, n, ...) CTP_EVENT_UNLESS_OFF_(p, n, ctp_event_put_##p##_##n(__VA_ARGS__))

// An expression of type void; anywhere, in any thread, also in a signal handler.
#define ctp_event(provider, ...) \
	CTP_EVENT_CAT_(CTP_EVENT_CALL_, CTP_EVENT_MORE_(__VA_ARGS__))(provider, __VA_ARGS__)

#define ctp_event_enabled(provider, name) (ctp_event_on_##provider##_##name() != 0) // does anybody listen?

// ------------------------------------------------------------------ tasks, regions, logs

// A task is what the program does for somebody: a request, a job. It may go from one coroutine or thread to
// another; ctp-analyze --tasks says how long each took. All of these are events of the provider ctp.
//
//	ctp_task t = ctp_task_begin("request");     a type, of which there are few
//	ctp_task_enter(t);                          from here on the calling coroutine works for it
//	ctp_task_end(t);
//	ctp_region_begin("parse"); ctp_region_end();    within one coroutine; regions nest
//	ctp_log("cache", "miss");                   a category, and a message
typedef struct ctp_task {
	uint64_t id; // 0: nobody listened when it began
} ctp_task;

CTP_EVENT(ctp, task_begin, (uint64_t, task), (const char *, type));
CTP_EVENT(ctp, task_enter, (uint64_t, task));
CTP_EVENT(ctp, task_end, (uint64_t, task));
CTP_EVENT(ctp, region_begin, (const char *, name));
CTP_EVENT(ctp, region_end);
CTP_EVENT(ctp, log, (const char *, category), (const char *, message));

// Numbers from a place of their own for each file, so that no two tasks of a process have the same.
static inline __attribute__((unused)) uint64_t ctp_task_number_(void)
{
	static uint64_t last;
	uint64_t n = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED) +
		     (uint64_t)(uintptr_t)&last * 0x9E3779B97F4A7C15u;
	return n ? n : 1;
}

static inline __attribute__((unused)) ctp_task ctp_task_begin(const char *type)
{
	ctp_task t = {0};
	if (ctp_event_enabled(ctp, task_begin)) {
		t.id = ctp_task_number_();
		ctp_event(ctp, task_begin, t.id, type);
	}
	return t;
}

static inline __attribute__((unused)) void ctp_task_enter(ctp_task t)
{
	ctp_event(ctp, task_enter, t.id);
}

static inline __attribute__((unused)) void ctp_task_end(ctp_task t)
{
	ctp_event(ctp, task_end, t.id);
}

static inline __attribute__((unused)) void ctp_region_begin(const char *name)
{
	ctp_event(ctp, region_begin, name);
}

static inline __attribute__((unused)) void ctp_region_end(void)
{
	ctp_event(ctp, region_end);
}

static inline __attribute__((unused)) void ctp_log(const char *category, const char *message)
{
	ctp_event(ctp, log, category, message);
}

#ifdef __cplusplus
extern "C++" {
// A region that ends where its object does.
struct ctp_region {
	explicit ctp_region(const char *name)
	{
		ctp_region_begin(name);
	}
	~ctp_region()
	{
		ctp_region_end();
	}
	ctp_region(const ctp_region &) = delete;
	ctp_region &operator=(const ctp_region &) = delete;
};
}
#endif

#endif
