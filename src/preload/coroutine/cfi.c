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

// Runs a CFA program up to `pc` (relative to the FDE's start).
static bool run(const uint8_t *p, const uint8_t *end, const struct cie *c, const struct row *initial,
		uint64_t pc, struct row *r)
{
	struct row stack[8];
	unsigned depth = 0;
	uint64_t loc = 0, reg, n;
	while (p < end) {
		uint8_t op = *p++;
		if (op >= 0x40 && op < 0x80) { // advance_loc
			loc += (op & 0x3f) * c->code_align;
		} else if (op >= 0x80 && op < 0xc0) { // offset
			set_rule(r, op & 0x3f, (struct rule){RULE_OFFSET, (int64_t)uleb(&p) * c->data_align});
		} else if (op >= 0xc0) { // restore
			set_rule(r, op & 0x3f, (op & 0x3f) == DWARF_FP ? initial->fp : initial->ra);
		} else
			switch (op) {
			case 0x00:
				break; // nop
			case 0x02:
				loc += *p++ * c->code_align;
				break;
			case 0x03:
				loc += LOAD(uint16_t, p) * c->code_align;
				break;
			case 0x04:
				loc += LOAD(uint32_t, p) * c->code_align;
				break;
			case 0x05:
				reg = uleb(&p);
				set_rule(r, reg,
					 (struct rule){RULE_OFFSET, (int64_t)uleb(&p) * c->data_align});
				break;
			case 0x06:
				reg = uleb(&p);
				set_rule(r, reg, reg == DWARF_FP ? initial->fp : initial->ra);
				break;
			case 0x07:
				set_rule(r, uleb(&p), (struct rule){RULE_UNDEFINED, 0});
				break;
			case 0x08:
				set_rule(r, uleb(&p), (struct rule){RULE_SAME, 0});
				break;
			case 0x09:
				reg = uleb(&p);
				uleb(&p);
				set_rule(r, reg, (struct rule){RULE_OTHER, 0});
				break;
			case 0x0a:
				if (depth == 8)
					return false;
				stack[depth++] = *r;
				break;
			case 0x0b:
				if (!depth)
					return false;
				*r = stack[--depth];
				break;
			case 0x0c:
				set_cfa_reg(r, uleb(&p));
				r->cfa_off = (int64_t)uleb(&p);
				break;
			case 0x0d:
				set_cfa_reg(r, uleb(&p));
				break;
			case 0x0e:
				r->cfa_off = (int64_t)uleb(&p);
				break;
			case 0x0f:
				n = uleb(&p);
				cfa_expression(r, p, n);
				p += n;
				break;
			case 0x10:
				reg = uleb(&p);
				n = uleb(&p);
				set_rule(r, reg, reg_expression(p, n));
				p += n;
				break;
			case 0x11:
				reg = uleb(&p);
				set_rule(r, reg, (struct rule){RULE_OFFSET, sleb(&p) * c->data_align});
				break;
			case 0x12:
				set_cfa_reg(r, uleb(&p));
				r->cfa_off = sleb(&p) * c->data_align;
				break;
			case 0x13:
				r->cfa_off = sleb(&p) * c->data_align;
				break;
			case 0x14:
				reg = uleb(&p);
				uleb(&p);
				set_rule(r, reg, (struct rule){RULE_OTHER, 0});
				break;
			case 0x15:
				reg = uleb(&p);
				sleb(&p);
				set_rule(r, reg, (struct rule){RULE_OTHER, 0});
				break;
			case 0x16:
				reg = uleb(&p);
				n = uleb(&p);
				p += n;
				set_rule(r, reg, (struct rule){RULE_OTHER, 0});
				break;
			case 0x2c:
			case 0x2d:
				break; // aarch64: signed from here on, or no longer; it is stripped anyway
			case 0x2e:
				uleb(&p);
				break; // GNU_args_size
			default:
				return false;
			}
		if (loc > pc)
			return true; // `r` was complete before this advance: see fde_row
	}
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
