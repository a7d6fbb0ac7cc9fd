// SPDX-License-Identifier: MIT
//
// A small interpreter of DWARF call frame information. _dl_find_object (glibc 2.35; no lock,
// no allocation) gives .eh_frame_hdr, its table gives the FDE, and the FDE's program gives the
// rules for CFA, frame pointer and return address (DWARF 5, 6.4; LSB 5 on .eh_frame). Only
// these three are tracked: that suffices for every stack that compilers lay out. Instructions
// that it does not understand make the recipe `bare`, never wrong.
#include "preload/coroutine/cfi.h"

#include <dlfcn.h>
#include <link.h>

#include "dwarf.h"
#include "preload/guest/modules.h"

// Old glibc lacks it: then all frames are bare.
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));

enum { RULE_SAME, RULE_OFFSET, RULE_AT_FP, RULE_UNDEFINED, RULE_OTHER };

struct rule {
	uint8_t kind;
	int64_t off;
};
struct row {
	enum cfa_from cfa;
	int64_t cfa_off;
	struct rule fp, ra;
};
struct cie {
	uint64_t code_align;
	int64_t data_align;
	uint8_t fde_enc;
	bool augmented, signal;
	const uint8_t *program, *end;
};

static uint64_t uleb(const uint8_t **p)
{
	uint64_t v = 0;
	for (unsigned shift = 0;; shift += 7) {
		uint8_t b = *(*p)++;
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
}

static int64_t sleb(const uint8_t **p)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t b;
	do {
		b = *(*p)++;
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80);
	if ((b & 0x40) && shift < 64)
		v |= ~0ULL << shift;
	return (int64_t)v;
}

#define LOAD(type, p) \
	({ \
		type v_; \
		__builtin_memcpy(&v_, (p), sizeof(v_)); \
		(p) += sizeof(v_); \
		v_; \
	})

// DW_EH_PE_*: absptr, udata4/8, sdata4/8, pc-relative or not.
static bool encoded(const uint8_t **p, uint8_t enc, uint64_t base, uint64_t *out)
{
	uint64_t at = (uint64_t)*p, v;
	switch (enc & 0x0f) {
	case 0x00:
	case 0x04:
	case 0x0c:
		v = LOAD(uint64_t, *p);
		break;
	case 0x03:
		v = LOAD(uint32_t, *p);
		break;
	case 0x0b:
		v = (uint64_t)(int64_t)LOAD(int32_t, *p);
		break;
	default:
		return false;
	}
	switch (enc & 0x70) {
	case 0x00:
		break;
	case 0x10:
		v += at;
		break;
	case 0x30:
		v += base;
		break;
	default:
		return false;
	}
	*out = v;
	return !(enc & 0x80);
}

static bool cie_parse(const uint8_t *p, struct cie *c)
{
	uint32_t len = LOAD(uint32_t, p);
	if (len == 0xffffffff || LOAD(uint32_t, p) != 0)
		return false;
	*c = (struct cie){.end = p - 4 + len};
	uint8_t version = *p++;
	const char *aug = (const char *)p;
	while (*p++)
		;
	c->code_align = uleb(&p);
	c->data_align = sleb(&p);
	uint64_t ra = version == 1 ? *p++ : uleb(&p);
	if (ra != DWARF_RA || (version != 1 && version != 3) || (*aug && *aug != 'z'))
		return false;
	if (*aug == 'z') {
		c->augmented = true;
		uint64_t n = uleb(&p);
		const uint8_t *q = p;
		uint64_t ignored;
		p += n;
		for (aug++; *aug; aug++) {
			if (*aug == 'R')
				c->fde_enc = *q++;
			else if (*aug == 'S')
				c->signal = true;
			else if (*aug == 'B') // aarch64: by which key return addresses are signed
				;
			else if (*aug == 'L')
				q++;
			else if (*aug == 'P') {
				uint8_t enc = *q++;
				if (!encoded(&q, enc & 0x0f, 0, &ignored))
					return false;
			} else
				break;
		}
	}
	c->program = p;
	return true;
}

// DW_CFA_def_cfa_expression in main with a realigned stack: breg<fp> n; deref.
static void cfa_expression(struct row *r, const uint8_t *p, uint64_t n)
{
	const uint8_t *end = p + n;
	r->cfa = CFA_NONE;
	if (n >= 3 && *p++ == DWARF_OP_BREG_FP) {
		r->cfa_off = sleb(&p);
		if (p + 1 == end && *p == 0x06) // DW_OP_deref
			r->cfa = CFA_AT_FP;
	}
}

static struct rule reg_expression(const uint8_t *p, uint64_t n)
{
	const uint8_t *end = p + n;
	if (n >= 2 && *p++ == DWARF_OP_BREG_FP) {
		int64_t off = sleb(&p);
		if (p == end)
			return (struct rule){RULE_AT_FP, off};
	}
	return (struct rule){RULE_OTHER, 0};
}

static void set_rule(struct row *r, uint64_t reg, struct rule rule)
{
	if (reg == DWARF_FP)
		r->fp = rule;
	else if (reg == DWARF_RA)
		r->ra = rule;
}

static void set_cfa_reg(struct row *r, uint64_t reg)
{
	r->cfa = reg == DWARF_SP ? CFA_SP : reg == DWARF_FP ? CFA_FP : CFA_NONE;
}

enum { // DWARF 5, 7.24; the first three carry an operand in their lower six bits
	DW_CFA_ADVANCE_LOC = 0x40,
	DW_CFA_OFFSET = 0x80,
	DW_CFA_RESTORE = 0xc0,
	DW_CFA_NOP = 0x00,
	DW_CFA_ADVANCE_LOC1 = 0x02,
	DW_CFA_ADVANCE_LOC2,
	DW_CFA_ADVANCE_LOC4,
	DW_CFA_OFFSET_EXTENDED,
	DW_CFA_RESTORE_EXTENDED,
	DW_CFA_UNDEFINED,
	DW_CFA_SAME_VALUE,
	DW_CFA_REGISTER,
	DW_CFA_REMEMBER_STATE,
	DW_CFA_RESTORE_STATE,
	DW_CFA_DEF_CFA,
	DW_CFA_DEF_CFA_REGISTER,
	DW_CFA_DEF_CFA_OFFSET,
	DW_CFA_DEF_CFA_EXPRESSION,
	DW_CFA_EXPRESSION,
	DW_CFA_OFFSET_EXTENDED_SF,
	DW_CFA_DEF_CFA_SF,
	DW_CFA_DEF_CFA_OFFSET_SF,
	DW_CFA_VAL_OFFSET,
	DW_CFA_VAL_OFFSET_SF,
	DW_CFA_VAL_EXPRESSION,
	DW_CFA_AARCH64_NEGATE_RA_STATE_WITH_PC =
		0x2c, // signed from here on, or no longer; it is stripped anyway
	DW_CFA_AARCH64_NEGATE_RA_STATE,
	DW_CFA_GNU_ARGS_SIZE,
};

enum { KEPT_MAX = 8 };

// A CFA program that runs: `r` is the row so far, `loc` counts from the FDE's start.
struct machine {
	const uint8_t *p;
	const struct cie *c;
	const struct row *initial; // what "restore" goes back to
	struct row *r, *kept;      // `kept`: what "remember" puts aside
	unsigned depth;
	uint64_t loc;
};

static void restore(struct machine *m, uint64_t reg)
{
	set_rule(m->r, reg, reg == DWARF_FP ? m->initial->fp : m->initial->ra);
}

static void offset(struct machine *m, uint64_t reg, int64_t factored)
{
	set_rule(m->r, reg, (struct rule){RULE_OFFSET, factored * m->c->data_align});
}

// The rule of one register. false: it is not such an instruction.
static bool step_register(struct machine *m, uint8_t op)
{
	uint64_t reg, n;
	if (op < DW_CFA_OFFSET_EXTENDED ||
	    (op > DW_CFA_REGISTER && op != DW_CFA_EXPRESSION && op != DW_CFA_OFFSET_EXTENDED_SF &&
	     (op < DW_CFA_VAL_OFFSET || op > DW_CFA_VAL_EXPRESSION)))
		return false;
	reg = uleb(&m->p);
	switch (op) {
	case DW_CFA_OFFSET_EXTENDED:
		offset(m, reg, (int64_t)uleb(&m->p));
		break;
	case DW_CFA_OFFSET_EXTENDED_SF:
		offset(m, reg, sleb(&m->p));
		break;
	case DW_CFA_RESTORE_EXTENDED:
		restore(m, reg);
		break;
	case DW_CFA_UNDEFINED:
		set_rule(m->r, reg, (struct rule){RULE_UNDEFINED, 0});
		break;
	case DW_CFA_SAME_VALUE:
		set_rule(m->r, reg, (struct rule){RULE_SAME, 0});
		break;
	case DW_CFA_EXPRESSION:
		n = uleb(&m->p);
		set_rule(m->r, reg, reg_expression(m->p, n));
		m->p += n;
		break;
	case DW_CFA_VAL_EXPRESSION:
		n = uleb(&m->p);
		m->p += n;
		set_rule(m->r, reg, (struct rule){RULE_OTHER, 0});
		break;
	default: // DW_CFA_REGISTER, DW_CFA_VAL_OFFSET and its signed form: one operand more, signed or not
		uleb(&m->p);
		set_rule(m->r, reg, (struct rule){RULE_OTHER, 0});
	}
	return true;
}

// The rule of the CFA. false: it is not such an instruction.
static bool step_cfa(struct machine *m, uint8_t op)
{
	uint64_t n;
	switch (op) {
	case DW_CFA_DEF_CFA:
		set_cfa_reg(m->r, uleb(&m->p));
		m->r->cfa_off = (int64_t)uleb(&m->p);
		return true;
	case DW_CFA_DEF_CFA_REGISTER:
		set_cfa_reg(m->r, uleb(&m->p));
		return true;
	case DW_CFA_DEF_CFA_OFFSET:
		m->r->cfa_off = (int64_t)uleb(&m->p);
		return true;
	case DW_CFA_DEF_CFA_EXPRESSION:
		n = uleb(&m->p);
		cfa_expression(m->r, m->p, n);
		m->p += n;
		return true;
	case DW_CFA_DEF_CFA_SF:
		set_cfa_reg(m->r, uleb(&m->p));
		m->r->cfa_off = sleb(&m->p) * m->c->data_align;
		return true;
	case DW_CFA_DEF_CFA_OFFSET_SF:
		m->r->cfa_off = sleb(&m->p) * m->c->data_align;
		return true;
	default:
		return false;
	}
}

// The place in the code, the states put aside, and what means nothing here. false: not understood.
static bool step_place(struct machine *m, uint8_t op)
{
	switch (op) {
	case DW_CFA_NOP:
	case DW_CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
	case DW_CFA_AARCH64_NEGATE_RA_STATE:
		return true;
	case DW_CFA_ADVANCE_LOC1:
		m->loc += *m->p++ * m->c->code_align;
		return true;
	case DW_CFA_ADVANCE_LOC2:
		m->loc += LOAD(uint16_t, m->p) * m->c->code_align;
		return true;
	case DW_CFA_ADVANCE_LOC4:
		m->loc += LOAD(uint32_t, m->p) * m->c->code_align;
		return true;
	case DW_CFA_REMEMBER_STATE:
		if (m->depth == KEPT_MAX)
			return false;
		m->kept[m->depth++] = *m->r;
		return true;
	case DW_CFA_RESTORE_STATE:
		if (!m->depth)
			return false;
		*m->r = m->kept[--m->depth];
		return true;
	case DW_CFA_GNU_ARGS_SIZE:
		uleb(&m->p);
		return true;
	default:
		return false;
	}
}

static bool step(struct machine *m)
{
	uint8_t op = *m->p++, low = op & 0x3f;
	switch (op & 0xc0) {
	case DW_CFA_ADVANCE_LOC:
		m->loc += low * m->c->code_align;
		return true;
	case DW_CFA_OFFSET:
		offset(m, low, (int64_t)uleb(&m->p));
		return true;
	case DW_CFA_RESTORE:
		restore(m, low);
		return true;
	default:
		return step_register(m, op) || step_cfa(m, op) || step_place(m, op);
	}
}

// Runs a CFA program up to `pc` (relative to the FDE's start).
static bool run(const uint8_t *p, const uint8_t *end, const struct cie *c, const struct row *initial,
		uint64_t pc, struct row *r)
{
	struct row kept[KEPT_MAX];
	struct machine m = {.p = p, .c = c, .initial = initial, .r = r, .kept = kept};
	while (m.p < end && m.loc <= pc) // an advance past pc: `r` was complete before it
		if (!step(&m))
			return false;
	return true;
}

// The table of .eh_frame_hdr: the FDE that may hold pc.
static const uint8_t *fde_find(const uint8_t *hdr, uint64_t pc)
{
	const uint8_t *p = hdr + 4;
	uint64_t ignored, count, base = (uint64_t)hdr;
	if (hdr[0] != 1 || hdr[3] != 0x3b || !encoded(&p, hdr[1], base, &ignored) ||
	    !encoded(&p, hdr[2], base, &count) || !count)
		return NULL;
	const int32_t *table = (const int32_t *)p;
	uint64_t lo = 0, hi = count;
	if ((int64_t)(pc - base) < table[0])
		return NULL;
	while (hi - lo > 1) {
		uint64_t mid = lo + (hi - lo) / 2;
		if (table[2 * mid] <= (int64_t)(pc - base))
			lo = mid;
		else
			hi = mid;
	}
	return hdr + table[2 * lo + 1];
}

static bool fde_row(const uint8_t *fde, uint64_t pc, struct row *r, struct cie *c)
{
	const uint8_t *p = fde;
	uint32_t len = LOAD(uint32_t, p);
	if (!len || len == 0xffffffff)
		return false;
	const uint8_t *end = p + len, *id = p;
	uint64_t start, range;
	uint32_t back = LOAD(uint32_t, p);
	if (!cie_parse(id - back, c) || !encoded(&p, c->fde_enc, 0, &start) ||
	    !encoded(&p, c->fde_enc & 0x0f, 0, &range) || pc < start || pc - start >= range)
		return false;
	if (c->augmented) {
		uint64_t n = uleb(&p);
		p += n;
	}
	*r = (struct row){.ra = {RULE_OTHER, 0}};
	struct row initial = *r;
	if (!run(c->program, c->end, c, &initial, ~0ULL, r))
		return false;
	initial = *r;
	return run(p, end, c, &initial, pc - start, r);
}

struct recipe cfi_recipe(uint64_t pc)
{
	struct recipe out = {.bare = 1};
	struct dl_find_object o;
	struct row r;
	struct cie c;
	if (!_dl_find_object || _dl_find_object((void *)(pc - 1), &o) != 0)
		return out;
	out.known = 1;
	modules_note(&o);
	const uint8_t *fde = o.dlfo_eh_frame ? fde_find(o.dlfo_eh_frame, pc - 1) : NULL;
	if (!fde || !fde_row(fde, pc - 1, &r, &c) || c.signal)
		return out;
	if (r.ra.kind == RULE_UNDEFINED)
		return (struct recipe){.end = 1, .known = 1};
	if (r.cfa == CFA_NONE || r.ra.kind != RULE_OFFSET || r.ra.off != (int32_t)r.ra.off ||
	    r.cfa_off != (int32_t)r.cfa_off || r.fp.off != (int32_t)r.fp.off)
		return out;
	static const uint8_t fp_rules[] = {[RULE_SAME] = FP_SAME,
					   [RULE_OFFSET] = FP_AT_CFA,
					   [RULE_AT_FP] = FP_AT_FP,
					   [RULE_UNDEFINED] = FP_LOST,
					   [RULE_OTHER] = FP_LOST};
	return (struct recipe){.cfa = r.cfa,
			       .cfa_off = (int32_t)r.cfa_off,
			       .fp = fp_rules[r.fp.kind],
			       .fp_off = (int32_t)r.fp.off,
			       .ra_off = (int32_t)r.ra.off,
			       .known = 1};
}
