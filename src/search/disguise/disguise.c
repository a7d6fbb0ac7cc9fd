// SPDX-License-Identifier: MIT
//
// Small integers of interpreters are shifted left (OCaml by 1, Guile by 2, Lisps by 3, others by 4), with a
// tag below; keys and compressed pointers are shifted right, with a tag above; weak references are
// complements; wire formats are byte-swapped; LuaJIT's values are NaNs with 17 bits of tag; scripts whose
// numbers are doubles keep addresses as doubles; lists with one link keep the sum of two. A pointer with a
// tag in its upper 16 bits is none of these: scan.c sees it.
#include "search/disguise/disguise.h"

#include <string.h>

#define BITS(n) ((1ULL << (n)) - 1)
enum { ADDRESS = 47 }; // bits of a program's address

const char *disguise_text(enum disguise form)
{
	static const char *const texts[DISGUISES] = {
		[DISGUISE_NONE] = "as it is",
		[DISGUISE_LEFT_1] = "shifted left by 1",
		[DISGUISE_LEFT_2] = "shifted left by 2",
		[DISGUISE_LEFT_3] = "shifted left by 3",
		[DISGUISE_LEFT_4] = "shifted left by 4",
		[DISGUISE_RIGHT_1] = "shifted right by 1",
		[DISGUISE_RIGHT_2] = "shifted right by 2",
		[DISGUISE_RIGHT_3] = "shifted right by 3",
		[DISGUISE_RIGHT_4] = "shifted right by 4",
		[DISGUISE_COMPLEMENT] = "as a complement",
		[DISGUISE_NEGATED] = "as a negative number",
		[DISGUISE_SWAPPED] = "with its bytes swapped",
		[DISGUISE_TAG_17] = "below a tag of 17 bits",
		[DISGUISE_DOUBLE] = "as a floating-point number",
		[DISGUISE_OUTSIDE] = "as a base outside its block",
		[DISGUISE_RIGHT_MORE] = "shifted right by more than 4",
		[DISGUISE_TEXT] = "as text",
		[DISGUISE_RECODED] = "with its bits in another order or recoded",
		[DISGUISE_AWAY] = "as its distance from the word itself",
		[DISGUISE_NEAR] = "as its distance from the word itself",
		[DISGUISE_SUM] = "as its sum with another address",
		[DISGUISE_XOR] = "xored with another word",
		[DISGUISE_PRODUCT] = "multiplied by a number of the program",
		[DISGUISE_VARINT] = "in bytes of seven bits each (LEB128)",
		[DISGUISE_PARTS] = "as text, in parts",
		[DISGUISE_BITS] = "in a bit field",
		[DISGUISE_COLUMNS] = "as two halves that stand apart",
		[DISGUISE_UPPER] = "as its upper bits",
		[DISGUISE_OWN] = "xored with its own address, or its structure's",
		[DISGUISE_LINK] = "xored with an address (a link of a list)",
		[DISGUISE_CODE] = "as an operand of an instruction",
		[DISGUISE_LOW] = "as its lower 32 bits",
		[DISGUISE_LOW_1] = "as 32 bits, shifted right by 1",
		[DISGUISE_LOW_2] = "as 32 bits, shifted right by 2",
		[DISGUISE_LOW_3] = "as 32 bits, shifted right by 3",
		[DISGUISE_LOW_4] = "as 32 bits, shifted right by 4",
		[DISGUISE_HALVES] = "as two halves",
		[DISGUISE_SELF] = "as its distance from the word itself",
		[DISGUISE_DISTANCE] = "as its distance from a base",
	};
	return form < DISGUISES ? texts[form] : "in disguise";
}

static double double_of(uint64_t word)
{
	double d;
	memcpy(&d, &word, sizeof(d));
	return d;
}

static uint64_t of_double(uint64_t word)
{
	double d = double_of(word);
	if (!(d >= 1 && d < (double)(1ULL << ADDRESS)) || (double)(uint64_t)d != d)
		return 0;
	return (uint64_t)d;
}

uint64_t disguise_address(enum disguise form, uint64_t w, bool *tagged)
{
	unsigned left = form - DISGUISE_LEFT_1 + 1, right = form - DISGUISE_RIGHT_1 + 1;
	uint64_t address = 0;
	*tagged = false;
	if (form >= DISGUISE_LEFT_1 && form <= DISGUISE_LEFT_4) {
		address = w >> left;
	} else if (form >= DISGUISE_RIGHT_1 && form <= DISGUISE_RIGHT_4) {
		*tagged = w >> (ADDRESS - right);
		address = w << right & BITS(ADDRESS);
	} else if (form == DISGUISE_COMPLEMENT) {
		address = ~w;
	} else if (form == DISGUISE_NEGATED) {
		address = -w;
	} else if (form == DISGUISE_SWAPPED) {
		*tagged = w & BITS(16); // a byte beside it
		address = __builtin_bswap64(w) & BITS(48);
	} else if (form == DISGUISE_TAG_17) {
		*tagged = w >> 51 != BITS(13); // but for a NaN
		address = w >> ADDRESS & 1 ? w & BITS(ADDRESS) : 0;
	} else if (form == DISGUISE_DOUBLE) {
		address = of_double(w);
	}
	return address >> ADDRESS ? 0 : address;
}

uint64_t disguise_word(enum disguise form, uint64_t address)
{
	double d = (double)address;
	uint64_t bits;
	memcpy(&bits, &d, sizeof(bits));
	switch (form) {
	case DISGUISE_LEFT_1:
	case DISGUISE_LEFT_2:
	case DISGUISE_LEFT_3:
	case DISGUISE_LEFT_4:
		return address << (form - DISGUISE_LEFT_1 + 1);
	case DISGUISE_RIGHT_1:
	case DISGUISE_RIGHT_2:
	case DISGUISE_RIGHT_3:
	case DISGUISE_RIGHT_4:
		return address >> (form - DISGUISE_RIGHT_1 + 1);
	case DISGUISE_COMPLEMENT:
		return ~address;
	case DISGUISE_NEGATED:
		return -address;
	case DISGUISE_SWAPPED:
		return __builtin_bswap64(address);
	case DISGUISE_TAG_17:
		return address | 1ULL << ADDRESS;
	case DISGUISE_DOUBLE:
		return bits;
	default:
		return address;
	}
}

uint64_t disguise_kept(enum disguise form)
{
	return form >= DISGUISE_RIGHT_1 && form <= DISGUISE_RIGHT_4 ? ~BITS(form - DISGUISE_RIGHT_1 + 1) :
								      ~0ULL;
}
