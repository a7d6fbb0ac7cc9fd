// SPDX-License-Identifier: MIT
//
// disguised_own.h - one run of the second pass: disguised.c says what is looked for, disguised_found.c what
// is found, and disguised_settle.c what of it counts.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "search/disguise/constants.h"
#include "search/disguise/disguise_words.h"
#include "search/disguise/disguised.h"
#include "search/disguise/families.h"
#include "search/disguise/handle_forms.h"
#include "search/disguise/loader_pages.h"
#include "search/disguise/own_xors.h"
#include "search/whole/number_rows.h"
#include "search/whole/packed_bits.h"
#include "search/whole/products.h"
#include "search/disguise/self_words.h"
#include "search/disguise/tables.h"
#include "search/whole/varints.h"
#include "search/disguise/xor_words.h"
#include "search/whole/code_pages.h"
#include "search/whole/columns.h"

#define DISGUISED_FOUR_GIB (1ULL << 32)
enum { DISGUISED_WORD = 8 };
enum { DISGUISED_PARTNERS_MOST = 64 };

struct disguised_pass {
	struct disguised *d;
	struct graph *g;
	struct disguise_words words;
	struct span *targets; // of words: objects that nothing reaches,
	uint64_t *begins;     // where they begin,
	size_t nbegins;
	uint64_t *all; // and with what begins in them
	struct self_words self;
	struct xor_words xors, odd; // odd: at any byte, in a small memory
	struct own_xors own;
	struct products products;
	struct varints varints;
	struct columns columns;
	struct number_rows rows;
	struct packed_bits packed;
	struct code_pages code;
	struct xor_links links;
	struct span partners[DISGUISED_PARTNERS_MOST];
	struct span *near; // where words that are no large distance from themselves may lead
	struct tables tables;
	struct handle_forms forms;
	unsigned of_few;             // found in forms that were not looked for of all
	struct handle_address *lost; // forms.targets
	struct families families;
	struct constants constants;
	struct loader_pages loader;
	struct {
		const unsigned char *bytes;
		uint64_t lo, hi;
	} piece; // that is searched now
	struct {
		uint64_t lo, hi;
		bool small;
	} map; // that was looked at last
};

// Is the object there, or the address in one, that nothing reaches?
bool disguised_lost(const struct disguised_pass *p, uint32_t node);
bool disguised_in_lost(const struct disguised_pass *p, uint64_t addr);
// Does such an object begin there?
bool disguised_begins_at(const struct disguised_pass *p, uint64_t address);

// What is found of each word, and of a piece of memory. ctx: the pass.
void disguised_on_word(void *ctx, uint64_t at, uint64_t address, enum disguise form);
void disguised_on_self(void *ctx, uint64_t at, uint64_t word);
void disguised_on_product(void *ctx, uint64_t at, uint64_t address);
void disguised_on_varint(void *ctx, uint64_t at, uint64_t address);
void disguised_on_column(void *ctx, uint64_t at, uint64_t address);
void disguised_on_parts(void *ctx, uint64_t at, uint64_t address);
void disguised_on_bits(void *ctx, uint64_t at, uint64_t address);
void disguised_on_link(void *ctx, uint64_t at, uint64_t address);
void disguised_on_code(void *ctx, uint64_t at, uint64_t address);
bool disguised_counts(void *ctx, uint64_t at);
bool disguised_in_row(void *ctx, uint64_t at);
void disguised_on_piece(void *ctx, const unsigned char *b, size_t n, uint64_t at);
void disguised_on_piece_again(void *ctx, const unsigned char *b, size_t n, uint64_t at);
void disguised_add_hit(struct disguised *d, uint64_t at, uint64_t address, uint32_t form);

// Those of the hits from `from` on whose form is in use become edges; the others go.
void disguised_settle(struct disguised_pass *p, size_t from);
void disguised_settle_blocks(struct disguised_pass *p);
void disguised_settle_xors(struct disguised_pass *p, struct xor_words *x);
void disguised_settle_own(struct disguised_pass *p);
void disguised_settle_families(struct disguised_pass *p);
