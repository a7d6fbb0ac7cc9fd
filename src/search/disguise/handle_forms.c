// SPDX-License-Identifier: MIT
//
// Decoys are as likely to be hit as a target is, by what is no handle: they differ in bits 16 to 25 alone.
// So they end in as many zeros as it does, as numbers like to, and a number that is as large is found as
// often. Where the lower half is a small number, as near the start of an arena at a multiple of 4 GiB, it
// is lower bits. Nobody has them: they are passed over where something is mapped. Of addresses below 4 GiB,
// which scan.c sees as they are, the shifted ones are looked for here, in both directions.
//
// A distance from the word itself may be small: then one that leads to a single object is a number.
#include "search/disguise/handle_forms.h"

#include <string.h>

#include "search/disguise/distances.h"
#include "search/disguise/images.h"

#define FOUR_GIB (1ULL << 32)
enum {
	DECOYS = 4096,
	DECOYS_OF_FEW = 512,
	NEAR_DECOYS = 2,
	DECOY_BITS = 10,
	DECOYS_OF_ONE = (1 << DECOY_BITS) - 1,
	DECOY_SHIFT = 16,
	BESIDE_SHIFT = 4,
	LEAST_ODD = 1024,
	UPPER_LEAST = 5,
	UPPER_MOST = 20,
	FLOAT_BITS = 24,
	TARGETS_MOST = HANDLE_FORMS_TARGETS
};

enum disguise handle_forms_is(uint32_t form)
{
	return form < DISGUISES ? (enum disguise)form : DISGUISE_DISTANCE;
}

static uint64_t mixed(uint64_t n)
{
	n = (n + 1) * 0x9e3779b97f4a7c15;
	n ^= n >> 29;
	n *= 0xbf58476d1ce4e5b9;
	return n ^ n >> 32;
}

// Decoy number n of an address.
static uint64_t decoy(uint64_t address, size_t n)
{
	unsigned shift = DECOY_SHIFT;
	while (shift > BESIDE_SHIFT && !((uint32_t)address >> (shift + DECOY_BITS)))
		shift--;
	return address ^ (n % DECOYS_OF_ONE + 1) << shift;
}

// As near as it is to what keeps its distance from there, but in the middle of something.
static uint64_t beside(uint64_t address, size_t n)
{
	return address + ((mixed(n) % 4 * 2 + 1) << BESIDE_SHIFT);
}

static bool is_image(uint32_t form)
{
	return form == DISGUISE_TEXT || form == DISGUISE_RECODED;
}

uint64_t handle_forms_address(const struct handle_forms *f, const struct handles_value *v)
{
	if (is_image(v->form))
		return f->targets[v->index / images_count()].at;
	if (v->form >= DISGUISES && v->class == HANDLES_DECOY)
		return 0;
	if (v->class == HANDLES_LIVING)
		return f->living[v->index].at;
	if (v->class == HANDLES_DECOY && v->form == DISGUISE_SELF)
		return beside(f->targets[v->index / NEAR_DECOYS].at, v->index);
	return v->class == HANDLES_TARGET ? f->targets[v->index].at :
					    decoy(f->targets[v->index / DECOYS_OF_ONE].at, v->index);
}

static uint32_t as_float(uint64_t number)
{
	float value = (float)number;
	uint32_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

// Where the lowest bits are kept elsewhere: in a field that is smaller, or as the number of a bucket.
static void add_upper(struct handles *h, uint64_t address, enum handles_class class, size_t index)
{
	for (unsigned k = UPPER_LEAST; k <= UPPER_MOST; k++)
		handles_add(h, (uint32_t)(address >> k), DISGUISE_UPPER, class, index);
	handles_add(h, as_float(address >> FLOAT_BITS), DISGUISE_UPPER, class, index);
}

static void add_low(struct handle_forms *f, uint64_t address, enum handles_class class, size_t index)
{
	struct handles *h = &f->values;
	for (unsigned k = 1; k <= 4; k++)
		handles_add(h, (uint32_t)(address >> k), DISGUISE_LOW + k, class, index);
	if (class != HANDLES_DECOY)
		handles_add(h, (uint32_t)address, DISGUISE_SELF, class, index);
	if (address >= FOUR_GIB && f->bytes < HANDLE_FORMS_LARGE)
		add_upper(h, address, class, index);
	if (address >= FOUR_GIB) {
		handles_add(h, (uint32_t)address, DISGUISE_LOW, class, index);
		handles_add(h, (uint32_t)address, DISGUISE_HALVES, class, index);
		return;
	}
	for (unsigned k = 1; k <= 3; k++)
		for (uint64_t tag = 0; tag < 1u << k; tag++)
			if (address << k < FOUR_GIB)
				handles_add(h, (uint32_t)(address << k | tag), DISGUISE_LEFT_1 + k - 1, class,
					    index);
	handles_add(h, (uint32_t)~address, DISGUISE_COMPLEMENT, class, index);
	handles_add(h, __builtin_bswap32((uint32_t)address), DISGUISE_SWAPPED, class, index);
}

size_t handle_forms_images(const struct handle_forms *f)
{
	return f->bytes < HANDLE_FORMS_LARGE ? IMAGES_TARGETS : IMAGES_TARGETS_LARGE;
}

bool handle_forms_of_few(const struct handle_forms *f, const struct handles_value *v)
{
	return is_image(v->form) && v->index % images_count() >= IMAGES_OF_ALL &&
	       f->ntargets > handle_forms_images(f);
}

// The whole of an address, in forms that no number has by chance, though 32 bits of them are looked for:
// shifted by as many bits as are zero, as the number of a page or of a line of the cache, and images.h's.
// Index of an image: of the target, times how many there are, and which one.
static void add_whole(struct handle_forms *f, uint64_t address, size_t index)
{
	struct image image;
	size_t images = images_count(), n = index < handle_forms_images(f) ? images : IMAGES_OF_ALL;
	bool large = f->bytes >= HANDLE_FORMS_LARGE;
	for (unsigned k = HANDLE_FORMS_RIGHT;
	     address >= FOUR_GIB && k <= HANDLE_FORMS_RIGHT_MOST && !(address & ((1ULL << k) - 1)); k++)
		handles_add(&f->values, (uint32_t)(address >> k), DISGUISE_RIGHT_MORE, HANDLES_TARGET, index);
	for (size_t i = 0; i < n; i++) {
		if (!image_of((unsigned)i, address, &image) ||
		    (large && i >= IMAGES_OF_ALL && image.radix && image.radix < IMAGES_RADIX_LARGE))
			continue;
		uint32_t part;
		for (unsigned k = 0; k < image.parts; k++)
			if (image_part(&image, k, &part))
				handles_add(&f->values, part, image.form, HANDLES_TARGET, index * images + i);
	}
}

bool handle_forms_image(const struct handle_forms *f, const struct handles_value *v, struct image *to)
{
	return is_image(v->form) && image_of(v->index % images_count(), handle_forms_address(f, v), to);
}

// Round numbers, and small ones, are everywhere.
bool handle_forms_telling(uint64_t distance)
{
	return distance && distance >> __builtin_ctzll(distance) >= LEAST_ODD;
}

// Index: of the target, times DECOYS_OF_ONE, and which one of it.
static void add_decoys(struct handle_forms *f, size_t n)
{
	size_t most = f->bytes < HANDLE_FORMS_LARGE ? DECOYS_OF_FEW : DECOYS;
	size_t each = n < most ? most / (n ? n : 1) : 1, added = 0;
	for (size_t i = 0; i < n && added < most; i++)
		for (size_t k = 0, had = 0; k < DECOYS_OF_ONE && had < each; k++) {
			size_t index = i * DECOYS_OF_ONE + mixed(i * DECOYS_OF_ONE + k) % DECOYS_OF_ONE;
			uint64_t address = decoy(f->targets[i].at, index);
			if (k < DECOYS_OF_ONE / 2 && memory_map(f->memory, address))
				continue; // in a heap that is larger than that, others serve as well
			add_low(f, address, HANDLES_DECOY, index);
			had++;
			added++;
		}
}

// Those in them come last.
static size_t outer_ones(const struct handle_forms *f, size_t n)
{
	while (n && f->targets[n - 1].kind == HANDLE_INNER)
		n--;
	return n;
}

bool handle_forms_all(struct handle_forms *f)
{
	size_t n = f->ntargets < TARGETS_MOST ? f->ntargets : TARGETS_MOST, outer = outer_ones(f, n);
	if (!handles_init(&f->values, DISGUISES + distances_forms(f)))
		return false;
	f->values.apart = DISGUISE_SELF;
	f->values.forms[DISGUISE_NEAR] =
		(struct handles_tally){.n = {1, 4, 0}}; // of 8 bytes, 4 are at odd places
	for (size_t i = 0; i < n; i++) {
		if (i < outer)
			add_low(f, f->targets[i].at, HANDLES_TARGET, i);
		add_whole(f, f->targets[i].at, i);
	}
	for (size_t i = 0; i < NEAR_DECOYS * outer && i < DECOYS; i++)
		handles_add(&f->values, (uint32_t)beside(f->targets[i / NEAR_DECOYS].at, i), DISGUISE_SELF,
			    HANDLES_DECOY, i);
	add_decoys(f, outer);
	for (size_t i = 0; i < f->nliving; i++)
		add_low(f, f->living[i].at, HANDLES_LIVING, i);
	distances_sample(f);
	return handles_ready(&f->values);
}

bool handle_forms_in_use(const struct handle_forms *f, uint32_t form)
{
	const struct handles_tally *t = f->values.forms;
	if (form >= DISGUISES)
		return f->distances.settled;
	if (form == DISGUISE_HALVES) // an argument of one coroutine, perhaps
		return handles_in_use(&t[form], false) || handles_in_use(&t[DISGUISE_LOW], true);
	return handles_in_use(&t[form], form != DISGUISE_NEAR && form != DISGUISE_UPPER);
}

void handle_forms_deinit(struct handle_forms *f)
{
	handles_deinit(&f->values);
	distances_deinit(&f->distances);
}
