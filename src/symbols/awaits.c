// SPDX-License-Identifier: MIT
//
// Where a coroutine awaits, by the debug information alone: each copy of its code, out of line or inlined
// into a caller, has the call of await_suspend that was inlined there, with the line of the co_await. Of use
// for a function that awaits at one place only, whose resume function begins behind that and says nothing of
// it.
#include "symbols/awaits.h"

#include <dwarf.h>
#include <string.h>

enum { DEEPEST = 64, DIES_MOST = 1 << 20 };

struct looking {
	const char *function; // its mangled name
	Dwarf_Addr at;
	Dwarf_Word line;
	unsigned left;
	bool several;
};

static const char *mangled(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &a));
	return name ? name : dwarf_formstring(dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &a));
}

static void note_await(struct looking *l, Dwarf_Die *die)
{
	Dwarf_Attribute a;
	Dwarf_Word line = 0;
	Dwarf_Addr at = 0, begin, end;
	if (dwarf_entrypc(die, &at) || !at)
		at = dwarf_ranges(die, 0, &begin, &begin, &end) > 0 ? begin : 0;
	if (!at || dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &a), &line) || !line)
		return;
	l->several |= l->line && l->line != line;
	l->line = line;
	l->at = l->at ? l->at : at;
}

// Clang 17 and later put the call into a function of its own, "_Z1fi.__await_suspend_wrapper__await".
static bool is_wrapper(const struct looking *l, const char *name)
{
	size_t n = strlen(l->function);
	return !strncmp(name, l->function, n) && !strcmp(name + n, ".__await_suspend_wrapper__await");
}

// Below `die`; `inside`: that is code of the function.
static void look(struct looking *l, Dwarf_Die *die, bool inside, unsigned depth)
{
	Dwarf_Die child;
	if (depth == DEEPEST)
		return;
	for (int more = dwarf_child(die, &child); !more && l->left; more = dwarf_siblingof(&child, &child)) {
		int tag = dwarf_tag(&child);
		l->left--;
		bool code = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
		const char *name = code ? mangled(&child) : NULL;
		bool is = name && !strcmp(name, l->function);
		const char *plain = inside && tag == DW_TAG_inlined_subroutine ? dwarf_diename(&child) : NULL;
		bool inlined = tag == DW_TAG_inlined_subroutine;
		if ((plain && !strcmp(plain, "await_suspend")) || (inlined && name && is_wrapper(l, name)))
			note_await(l, &child);
		else if (code || tag == DW_TAG_lexical_block || tag == DW_TAG_namespace ||
			 tag == DW_TAG_structure_type || tag == DW_TAG_class_type)
			look(l, &child, is || (inside && tag == DW_TAG_lexical_block), depth + 1);
	}
}

uint64_t awaits_find(Dwarf_Die *unit, Dwarf_Die *function)
{
	struct looking l = {.function = mangled(function), .left = DIES_MOST};
	if (l.function)
		look(&l, unit, false, 0);
	return l.several || !l.left ? 0 : l.at;
}

static bool is_named(Dwarf_Die *die, const char *name)
{
	const char *own = dwarf_diename(die);
	return own && !strcmp(own, name);
}

static uint64_t type_bytes(Dwarf_Die *of)
{
	Dwarf_Attribute a;
	Dwarf_Die type, plain;
	Dwarf_Word bytes;
	bool has = dwarf_attr_integrate(of, DW_AT_type, &a) && dwarf_formref_die(&a, &type) &&
		   !dwarf_peel_type(&type, &plain) && !dwarf_aggregate_size(&plain, &bytes);
	return has ? bytes : 0;
}

// Of the compiler's own variables: the promise, or the frame, which has it as a member.
uint64_t awaits_promise(Dwarf_Die *function)
{
	Dwarf_Attribute a;
	Dwarf_Die child, type, member;
	uint64_t bytes = 0;
	for (int more = dwarf_child(function, &child); !more && !bytes;
	     more = dwarf_siblingof(&child, &child)) {
		if (dwarf_tag(&child) == DW_TAG_lexical_block)
			bytes = awaits_promise(&child);
		if (dwarf_tag(&child) != DW_TAG_variable)
			continue;
		if (is_named(&child, "__promise"))
			bytes = type_bytes(&child);
		if (!is_named(&child, "__coro_frame") || !dwarf_attr_integrate(&child, DW_AT_type, &a) ||
		    !dwarf_formref_die(&a, &type))
			continue;
		for (int next = dwarf_child(&type, &member); !next && !bytes;
		     next = dwarf_siblingof(&member, &member))
			bytes = is_named(&member, "__promise") ? type_bytes(&member) : 0;
	}
	return bytes;
}
