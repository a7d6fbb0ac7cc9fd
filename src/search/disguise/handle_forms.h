// SPDX-License-Identifier: MIT
//
// handle_forms.h - the forms of 32 bits in which some addresses are looked for, and which of them are in use.
#pragma once

#include "search/whole/bases.h"
#include "search/disguise/disguise.h"
#include "search/disguise/handles.h"
#include "search/disguise/images.h"

// What a program would keep of a coroutine.
enum handle_kind {
	HANDLE_BLOCK,
	HANDLE_STACK,
	HANDLE_OUTER,
	HANDLE_INNER = HANDLE_OUTER, // what may begin in one of these: looked for where all bits are
				     // compared, and in a small memory as a distance
	HANDLE_KINDS
};

struct handle_address {
	uint64_t at;
	uint8_t kind; // enum handle_kind
};

#define HANDLE_FORMS_LARGE (16ULL << 20)                       // bytes: in fewer, chance hits hardly anything
enum { HANDLE_FORMS_TARGETS = 1 << 18 };                       // so many are looked for
enum { HANDLE_FORMS_RIGHT = 5, HANDLE_FORMS_RIGHT_MOST = 12 }; // shifts of DISGUISE_RIGHT_MORE

struct handle_forms {
	struct handles values; // forms below DISGUISES: enum disguise; from there on distances
	const struct memory *memory;
	uint64_t bytes; // that are searched
	const struct handle_address *targets, *living;
	size_t ntargets, nliving;
	struct bases bases;
	struct distances {
		struct distance *v; // that were found
		size_t n;
		bool settled; // `values` are those in use
	} distances;          // distances.c's
};

// All forms. False if out of memory.
bool handle_forms_all(struct handle_forms *f);
void handle_forms_deinit(struct handle_forms *f);

enum disguise handle_forms_is(uint32_t form);
// The address that a value stands for.
uint64_t handle_forms_address(const struct handle_forms *f, const struct handles_value *v);
// False: it is no part of an image.
bool handle_forms_image(const struct handle_forms *f, const struct handles_value *v, struct image *to);
// All images are looked for of so many targets. Is this one of those that are not looked for of all there
// are?
size_t handle_forms_images(const struct handle_forms *f);
bool handle_forms_of_few(const struct handle_forms *f, const struct handles_value *v);
// Is it no number as there are many?
bool handle_forms_telling(uint64_t distance);
bool handle_forms_in_use(const struct handle_forms *f, uint32_t form);
