// SPDX-License-Identifier: MIT
//
// CTP021: the process died because a coroutine ran off the lower end of its stack. Three things
// together show it: the faulting address is where that stack ends, the stack pointer is there as
// well, and the frames above are the coroutine's own. An address at the end alone may be a stray
// index. A stack without a guard page overflows into other memory and faults much later, if ever:
// that cannot be shown. The pass also adds the fact of how the process died.
#include <inttypes.h>
#include <signal.h>

#include "analyze/case/pass.h"
#include "base/text.h"
#include "ctp/words.h"

enum { PAGE = 4096, GUARD_MOST = 64 << 10, RED_ZONE = 128, NEAR = 512, WORD = 8 };
#define FAR (64ULL << 20) // an array may reach this far past the end

struct overflow {
	const struct world *world;
	const struct image *image;
	const struct ctp_crash *crash;
	const struct ctp_state *state; // who ran
	uint64_t sp;
	bool walked; // the frames above were found, so the stack is there
};

static bool is_fault(const struct ctp_crash *c)
{
	return (c->signal == SIGSEGV || c->signal == SIGBUS) &&
	       (c->code == SEGV_MAPERR || c->code == SEGV_ACCERR);
}

// Did the access go by the stack pointer: in what it has made room for, or by a push or a call?
static bool by_sp(const struct overflow *o)
{
	uint64_t addr = o->crash->addr;
	return addr + WORD == o->sp || (addr + RED_ZONE >= o->sp && (addr < o->sp || addr - o->sp < FAR));
}

// Below its lower end, as far as a guard reaches.
static bool in_guard(const struct overflow *o)
{
	const struct ctp_state *s = o->state;
	uint64_t guard = s->block_lo && s->block_lo < s->lo ? s->lo - s->block_lo : PAGE;
	guard = guard > GUARD_MOST ? GUARD_MOST : guard;
	return o->crash->addr < s->lo && o->crash->addr >= s->lo - guard;
}

// Above it: libraries count the guard as part of the stack.
static bool in_own_guard(const struct overflow *o)
{
	const struct ctp_state *s = o->state;
	uint64_t part = (s->hi - s->lo) / 2 < GUARD_MOST ? (s->hi - s->lo) / 2 : GUARD_MOST;
	return o->crash->code == SEGV_ACCERR && o->crash->addr - s->lo < part && by_sp(o);
}

static enum verdict judge(const struct overflow *o)
{
	const struct ctp_state *s = o->state;
	uint64_t addr = o->crash->addr;
	bool sure = o->walked && case_complete(o->world, o->image);
	if (s->entity != CTP_COROUTINE || s->lo >= s->hi || (s->flags & CTP_STATE_SHARED_STACK) ||
	    !is_fault(o->crash))
		return VERDICT_NONE;
	if (in_own_guard(o) || (in_guard(o) && by_sp(o) && o->sp <= s->lo + WORD))
		return sure ? VERDICT_PROVEN : VERDICT_LIKELY;
	if (in_guard(o))
		return o->sp > addr && o->sp - addr <= NEAR ? VERDICT_LIKELY : VERDICT_SUSPECT;
	if (o->sp < s->lo && s->lo - o->sp < FAR && addr < s->lo &&
	    by_sp(o)) // an array that reaches past the guard
		return sure ? VERDICT_LIKELY : VERDICT_SUSPECT;
	return VERDICT_NONE;
}

static const char *bytes(struct results *f, uint64_t n)
{
	return n >= 1024 && n % 1024 == 0 ? results_text(f, "%" PRIu64 " KiB", n / 1024) :
					    results_text(f, "%" PRIu64 " bytes", n);
}

static const char *where(const struct overflow *o, struct results *f)
{
	uint64_t addr = o->crash->addr, lo = o->state->lo;
	char sig[24];
	words_signal(o->crash->signal, sig, sizeof(sig));
	return results_text(f, "%s at 0x%" PRIx64 ", %s %s the lower end of its stack of %s%s", sig, addr,
			    bytes(f, addr < lo ? lo - addr : addr - lo), addr < lo ? "below" : "above",
			    bytes(f, o->state->hi - lo), in_own_guard(o) ? ": in its guard" : "");
}

static int add_overflow(const struct pass *pass, const struct overflow *o, enum verdict v,
			struct results *out)
{
	const struct ctp_state *s = o->state;
	bool complete = case_complete(o->world, o->image);
	struct verdict_case c = {
		.pass = pass,
		.id = s->id,
		.stack = o->crash->stack,
		.label = "happened",
		.fd = -1,
		.about = {.world = o->world, .image = o->image, .state = s},
		.doing = where(o, out),
		.message = where(o, out),
		.refuted = v == VERDICT_SUSPECT ? "a stray pointer hit the end of its stack by chance" :
						  "its stack is larger than what the library was told of it",
		.fix = results_text(
			out,
			"give it more than these %s, or bound the recursion and move large arrays "
			"(alloca, variable length) to the heap",
			bytes(out, s->hi - s->lo)),
	};
	c.proof.verdict = v;
	c.proof.items[PROOF_P0] = case_completeness(complete);
	c.proof.items[PROOF_P1] = (struct obligation){
		by_sp(o) ? HOLDS_TRUE : HOLDS_OPEN,
		by_sp(o) ? "its stack pointer was there as well" :
			   results_text(out, "its stack pointer was elsewhere, at 0x%" PRIx64, o->sp)};
	case_event(&c, s->created, s->creator, results_text(out, "creates coroutine %" PRIu64, s->id));
	case_event(&c, o->crash->time, s->id, "faults");
	return results_add(out, &c);
}

static const char *reason(const struct ctp_crash *c, struct results *f)
{
	if (c->code <= 0)
		return c->signal == SIGABRT ? " (abort, or sent)" : " (sent)";
	if (c->signal == SIGSEGV && c->code != SEGV_MAPERR && c->code != SEGV_ACCERR)
		return " (no valid address)";
	const char *why = c->signal != SIGSEGV   ? "" :
			  c->code == SEGV_MAPERR ? ", where nothing is mapped" :
						   ", which it may not access";
	return results_text(f, " at 0x%" PRIx64 "%s", c->addr, why);
}

static int say_crash(const struct image *m, const struct ctp_crash *c, struct results *out)
{
	const struct ctp_state *s = image_entity(m, c->who);
	char sig[24];
	words_signal(c->signal, sig, sizeof(sig));
	const char *who =
		c->who && !(s && s->entity == CTP_NATIVE) ?
			results_text(out, "coroutine %" PRIu64 " ran on thread %u", c->who, c->tid) :
			results_text(out, "thread %u ran on its native stack", c->tid);
	return results_fact(out, "INFO", 1, "process %" PRIu64 " died by %s%s: %s", m->pid, sig,
			    reason(c, out), who);
}

static bool leaves_core(int sig)
{
	static const int all[] = {SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,
				  SIGFPE,  SIGSEGV, SIGXCPU, SIGXFSZ, SIGSYS};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i] == sig)
			return true;
	return false;
}

static int say_unnoted(const struct image *m, struct results *out)
{
	char sig[24];
	if (!m->has_tables || m->replaced || !leaves_core(m->ended_signal))
		return 0;
	words_signal(m->ended_signal, sig, sizeof(sig));
	return results_fact(
		out, "INFO", 1, "process %" PRIu64 " died by %s; what ran then was not recorded: %s", m->pid,
		sig,
		m->ended_signal != SIGSEGV ?
			"the program handled that signal itself, or it is one that is not noted" :
		m->ext.crash.armed ?
			"the program handled or blocked that signal itself" :
			"the program handled or blocked that signal itself, or a stack overflowed where a handler had no other");
}

static enum verdict inspect(struct overflow *o, const struct world *w, const struct image *m)
{
	const struct ctp_crash *c = image_crash(m);
	*o = (struct overflow){.world = w, .image = m, .crash = c};
	if (!c)
		return VERDICT_NONE;
	o->state = image_entity(m, c->who);
	o->sp = c->regs[CTP_REG_SP];
	o->walked = c->steps > 0;
	return o->state ? judge(o) : VERDICT_NONE;
}

bool pass_overflowed(const struct world *w, const struct image *m, uint64_t id)
{
	struct overflow o;
	return inspect(&o, w, m) != VERDICT_NONE && o.state->id == id;
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	int r = 0;
	for (size_t i = 0; !r && i < w->nimages; i++) {
		const struct image *m = &w->images[i];
		struct overflow o;
		enum verdict v = inspect(&o, w, m);
		r = o.crash ? say_crash(m, o.crash, out) : say_unnoted(m, out);
		if (!r && v != VERDICT_NONE)
			r = add_overflow(pass, &o, v, out);
	}
	return r;
}

const struct pass pass_overflow = {
	.rule = rules_id[RULE_OVERFLOW],
	.title = "stack overflow",
	.claim = "has run off the end of its stack",
	.suspect = "died at the end of its stack",
	.fix = "use a larger stack, or less recursion",
	.run = run,
	.explain =
		"The process died by a fault where the running coroutine's stack ends: in the guard below it (or in\n"
		"the lowest part, where a library counts the guard in), or past it.\n"
		"\n"
		"    void parse(char *p) { char line[4096]; ... parse(p + 1); }    // 16 deep, on a stack of 64 KiB\n"
		"\n"
		"PROVEN   the stack pointer was there as well, and the frames above it are the coroutine's own\n"
		"LIKELY   one array reached past the guard, or the stack pointer was close\n"
		"SUSPECT  it was elsewhere, so it may be an index out of bounds\n"
		"\n"
		"Without a guard, an overflow overwrites other memory and the program dies later: ctp cannot show\n"
		"that.\n"
		"\n"
		"Repair: a larger stack; a bound on the recursion; large arrays on the heap; at least a guard page.\n"
		"\n"
		"Not reported: a NULL pointer in a coroutine; a program that grows a mapping in its own handler for\n"
		"SIGSEGV (ctp leaves its handler alone).\n",
};
