// SPDX-License-Identifier: MIT
//
// disguise.h - forms in which a program may keep an address so that no word of memory is that address.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum disguise {
	DISGUISE_NONE,
	// of a word of 64 bits
	DISGUISE_LEFT_1,
	DISGUISE_LEFT_2,
	DISGUISE_LEFT_3,
	DISGUISE_LEFT_4,
	DISGUISE_RIGHT_1,
	DISGUISE_RIGHT_2,
	DISGUISE_RIGHT_3,
	DISGUISE_RIGHT_4,
	DISGUISE_COMPLEMENT,
	DISGUISE_NEGATED,
	DISGUISE_SWAPPED,
	DISGUISE_TAG_17,
	DISGUISE_DOUBLE,
	DISGUISE_WORDS,                    // how many those are, and one
	DISGUISE_OUTSIDE = DISGUISE_WORDS, // a base outside its block
	DISGUISE_RIGHT_MORE,               // shifted right by 5 to 12, and only zeros were lost
	DISGUISE_TEXT,                     // written out
	DISGUISE_RECODED,                  // its bits in another order, or recoded
	DISGUISE_SUM,                      // added to another address
	DISGUISE_XOR,                      // combined with another word by exclusive or
	DISGUISE_PRODUCT,                  // multiplied by a number of the program
	DISGUISE_VARINT,  // in bytes of seven bits, or as a distance in a row of such numbers
	DISGUISE_PARTS,   // written out, in parts
	DISGUISE_BITS,    // in a bit field
	DISGUISE_COLUMNS, // as two halves that stand apart
	DISGUISE_OWN,     // combined with the address of where it is kept by exclusive or
	DISGUISE_LINK,    // in a link of a list, with the address of what lies at its other side
	DISGUISE_CODE,    // as operands of code that was made at run time
	DISGUISE_AWAY,    // its distance from where it is kept, 64 GiB or more,
	DISGUISE_NEAR,    // or less
	// of 32 bits
	DISGUISE_LOW,
	DISGUISE_LOW_1,
	DISGUISE_LOW_2,
	DISGUISE_LOW_3,
	DISGUISE_LOW_4,
	DISGUISE_UPPER, // shifted right by 5 to 20, whatever was lost
	DISGUISE_HALVES,
	DISGUISE_SELF,     // its distance from where it is kept
	DISGUISE_DISTANCE, // from a base
	DISGUISES
};

// As in "the word at X, shifted left by 1, leads to it".
const char *disguise_text(enum disguise form);

// The address that the word is in this form, one of a word of 64 bits; 0: it is none. What a shift to the
// right has lost is zero. *tagged: bits that belong to no address are set, so the word may well be something
// else; then the address counts only where it is exactly that of an object's begin.
uint64_t disguise_address(enum disguise form, uint64_t word, bool *tagged);

// An address in this form, without a tag.
uint64_t disguise_word(enum disguise form, uint64_t address);

// The bits of an address that the form keeps.
uint64_t disguise_kept(enum disguise form);
