// SPDX-License-Identifier: MIT
//
// Three tables make the images: alphabets, of which an address is written in each base, with its bytes in
// either order and from either end; the words that are looked for at any byte; and, at multiples of eight,
// these words rotated. Parts are taken where bytes differ most: zeros and the upper bits of addresses are
// everywhere. An address below 4 GiB has few bits: only what no number is like will do.
#include "search/disguise/images.h"

#include <string.h>

#define BITS_1 0x5555555555555555
#define BITS_2 0x3333333333333333
#define BITS_4 0x0f0f0f0f0f0f0f0f
#define FOUR_GIB (1ULL << 32)
enum {
	WORD = 8,
	PART = 4,
	ROTATIONS = 64,
	TURNED = 4,
	LEAST_DIGITS = 7,
	ALONE_MOST = 16,
	FEW_BITS = 20,
	TELLING_LEAST = 2
};

static const char LOWER[] = "0123456789abcdefghijklmnopqrstuvwxyz";
static const char UPPER[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

static const char ASCII_85[] =
	"!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstu";
static const char Z_85[] =
	"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

// ------------------------------------------------------------------- digits

enum { SWAPPED = 1, BACKWARD = 2, GROUPS = 4, FIVES = 8, BEHIND_1 = 16, BEHIND_2 = 32 };

// Of an alphabet, the bases from `lo` to `hi`; with GROUPS, the bytes of memory are taken by as many bits as
// a digit has, as in Base64, of a record in which so many bytes precede it, modulo three; with FIVES, four of
// them by five digits. The first four are looked for of all addresses.
#define ALPHABETS(X) \
	X(LOWER, 16, 16, 0) \
	X(UPPER, 16, 16, 0) \
	X(LOWER, 10, 10, 0) \
	X(LOWER, 16, 16, SWAPPED) \
	X(LOWER, 2, 9, 0) \
	X(LOWER, 11, 15, 0) \
	X(LOWER, 17, 36, 0) \
	X(UPPER, 11, 15, 0) \
	X(UPPER, 17, 36, 0) \
	X("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_", 37, 64, 0) \
	X("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+/", 63, 64, 0) \
	X("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_", 37, 64, 0) \
	X("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/", 63, 64, 0) \
	X("./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 64, 64, 0) \
	X("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 62, 64, 0) \
	X("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", 64, 64, 0) \
	X("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/", 62, 62, 0) \
	X("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", 58, 58, 0) \
	X("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 26, 32, 0) \
	X("abcdefghijklmnopqrstuvwxyz234567", 26, 32, 0) \
	X("0123456789ABCDEFGHJKMNPQRSTVWXYZ", 32, 32, 0) \
	X("0123456789abcdefghjkmnpqrstvwxyz", 32, 32, 0) \
	X(UPPER, 16, 16, SWAPPED) \
	X(LOWER, 8, 8, SWAPPED) \
	X(LOWER, 10, 10, SWAPPED) \
	X(LOWER, 32, 32, SWAPPED) \
	X(LOWER, 36, 36, SWAPPED) \
	X(UPPER, 36, 36, SWAPPED) \
	X("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 62, 62, SWAPPED) \
	X("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", 62, 62, SWAPPED) \
	X("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", 58, 58, SWAPPED) \
	X(LOWER, 2, 2, BACKWARD) \
	X(LOWER, 8, 8, BACKWARD) \
	X(LOWER, 10, 10, BACKWARD) \
	X(LOWER, 16, 16, BACKWARD) \
	X(UPPER, 16, 16, BACKWARD) \
	X(LOWER, 32, 32, BACKWARD) \
	X(LOWER, 36, 36, BACKWARD) \
	X(UPPER, 36, 36, BACKWARD) \
	X("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_", 62, 64, BACKWARD) \
	X("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_", 62, 64, BACKWARD) \
	X("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 64, 64, BACKWARD) \
	X("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", 58, 58, BACKWARD) \
	X(LOWER, 16, 16, SWAPPED | BACKWARD) \
	X("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 64, 64, GROUPS) \
	X("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", 64, 64, GROUPS) \
	X("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 32, 32, GROUPS) \
	X("abcdefghijklmnopqrstuvwxyz234567", 32, 32, GROUPS) \
	X("0123456789ABCDEFGHIJKLMNOPQRSTUV", 32, 32, GROUPS) \
	X("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 64, 64, GROUPS | SWAPPED) \
	X("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", 64, 64, GROUPS | SWAPPED) \
	X("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 32, 32, GROUPS | SWAPPED) \
	X("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 64, 64, GROUPS | BEHIND_1) \
	X("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 64, 64, GROUPS | BEHIND_2) \
	X("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", 64, 64, GROUPS | BEHIND_1) \
	X("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", 64, 64, GROUPS | BEHIND_2) \
	X(ASCII_85, 85, 85, FIVES) \
	X(ASCII_85, 85, 85, FIVES | SWAPPED) \
	X(Z_85, 85, 85, FIVES) \
	X(Z_85, 85, 85, FIVES | SWAPPED)
#define ALPHABET_ROW(digits, lo, hi, ways) {digits, lo, hi, ways},
#define ALPHABET_BASES(digits, lo, hi, ways) +((hi) - (lo) + 1)
static const struct alphabet {
	const char *digits;
	uint8_t lo, hi, ways;
} alphabets[] = {ALPHABETS(ALPHABET_ROW)};
enum { TEXTS_N = 0 ALPHABETS(ALPHABET_BASES) };

static void reverse(char *text, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		char c = text[i];
		text[i] = text[n - 1 - i];
		text[n - 1 - i] = c;
	}
}

// The bytes of a word, first the highest, by `bits`: the last digit has fewer of its own, and is left out. So
// is the first one, which has `skip`, if it begins before them.
static size_t write_groups(const char *digits, unsigned bits, unsigned skip, uint64_t word, char *to)
{
	size_t n = 0;
	for (unsigned had = skip; had + bits <= 64; had += bits)
		to[n++] = digits[word >> (64 - had - bits) & ((1u << bits) - 1)];
	return n;
}

static size_t write_number(const char *digits, unsigned base, uint64_t number, char *to)
{
	size_t n = 0;
	for (; number; number /= base)
		to[n++] = digits[number % base];
	reverse(to, n);
	return n;
}

static size_t write_fives(const char *digits, uint64_t word, char *to)
{
	enum { FIVE = 5, BASE = 85 };
	for (unsigned half = 0; half < 2; half++) {
		uint32_t number = (uint32_t)(word >> (half ? 0 : 32));
		for (unsigned k = FIVE; k-- > 0; number /= BASE)
			to[half * FIVE + k] = digits[number % BASE];
	}
	return 2 * FIVE;
}

static unsigned distinct(const char *part)
{
	return 1 + (part[1] != part[0]) + (part[2] != part[0] && part[2] != part[1]) +
	       (part[3] != part[0] && part[3] != part[1] && part[3] != part[2]);
}

// The last place, of the number's own end, with parts of as many characters as there are.
static void place_parts(struct image *i, bool from_begin)
{
	unsigned best = 0, first = 0;
	i->parts = IMAGES_PARTS;
	for (unsigned s = 0; s + PART + IMAGES_PARTS - 1 <= i->n; s++) {
		unsigned least = PART, at = from_begin ? s : i->n - (PART + IMAGES_PARTS - 1) - s;
		for (unsigned k = 0; k < IMAGES_PARTS; k++)
			least = distinct(i->bytes + at + k) < least ? distinct(i->bytes + at + k) : least;
		if (least > best) {
			best = least;
			first = at;
		}
	}
	for (unsigned k = 0; k < IMAGES_PARTS; k++)
		i->at[k] = (uint8_t)(first + k);
}

static bool has_letter(const struct image *i)
{
	for (unsigned k = 0; k < i->n; k++)
		if (i->bytes[k] > '9')
			return true;
	return false;
}

static bool text_of(unsigned which, uint64_t address, struct image *i)
{
	const struct alphabet *a = alphabets;
	while (which > (unsigned)(a->hi - a->lo)) {
		which -= a->hi - a->lo + 1u;
		a++;
	}
	unsigned base = a->lo + which, bits = base == 64 ? 6 : 5;
	// Base64 has the bytes as they lie in memory: those of the swapped number, from its highest.
	bool swap = !(a->ways & (GROUPS | FIVES)) == !!(a->ways & SWAPPED);
	unsigned skip = a->ways & BEHIND_1 ? 4 : a->ways & BEHIND_2 ? 2 : 0;
	uint64_t number = swap ? __builtin_bswap64(address) : address;
	i->n = (uint8_t)(a->ways & FIVES  ? write_fives(a->digits, number, i->bytes) :
			 a->ways & GROUPS ? write_groups(a->digits, bits, skip, number, i->bytes) :
					    write_number(a->digits, base, number, i->bytes));
	if (a->ways & BACKWARD)
		reverse(i->bytes, i->n);
	i->form = DISGUISE_TEXT;
	i->radix = (uint8_t)base;
	i->base = base <= ALONE_MOST && !(a->ways & BACKWARD) ? (uint8_t)base : 0;
	if (i->n < LEAST_DIGITS || (a->digits == UPPER && !has_letter(i)))
		return false;
	place_parts(i, swap != !!(a->ways & BACKWARD));
	return true;
}

// ------------------------------------------------------------------- words

static uint64_t nibbles(uint64_t w)
{
	return (w & BITS_4) << 4 | (w >> 4 & BITS_4);
}

// Of each byte.
static uint64_t bits_of_bytes(uint64_t w)
{
	w = (w & BITS_1) << 1 | (w >> 1 & BITS_1);
	w = (w & BITS_2) << 2 | (w >> 2 & BITS_2);
	return nibbles(w);
}

static uint64_t bits_of_all(uint64_t w)
{
	return __builtin_bswap64(bits_of_bytes(w));
}

static uint64_t same(uint64_t w)
{
	return w;
}

static uint64_t bytes_of_all(uint64_t w)
{
	return __builtin_bswap64(w);
}

static uint64_t gray(uint64_t w)
{
	return w ^ w >> 1;
}

static uint64_t from_gray(uint64_t w)
{
	for (unsigned k = 1; k < 64; k *= 2)
		w ^= w >> k;
	return w;
}

static uint64_t nibbles_of_all(uint64_t w)
{
	return __builtin_bswap64(nibbles(w));
}

static uint64_t pairs(uint64_t w) // bytes of each 16 bits
{
	return (w & 0x00ff00ff00ff00ff) << 8 | (w >> 8 & 0x00ff00ff00ff00ff);
}

static uint64_t quarters(uint64_t w) // 16 bits each, the highest first
{
	return pairs(__builtin_bswap64(w));
}

static uint64_t swapped_halves(uint64_t w) // bytes of each 32 bits
{
	return __builtin_bswap64(w) >> 32 | __builtin_bswap64(w) << 32;
}

static uint64_t zigzag(uint64_t w)
{
	return w << 1;
}

// Digits of four bits each.
static uint64_t packed_decimal(uint64_t w)
{
	uint64_t to = 0;
	for (unsigned k = 0; k < 64; k += 4, w /= 10)
		to |= w % 10 << k;
	return to;
}

static uint64_t packed_decimal_swapped(uint64_t w)
{
	return __builtin_bswap64(packed_decimal(w));
}

// As libraries of large decimal numbers keep them: nine or four digits each.
static uint64_t nines(uint64_t w)
{
	return w % 1000000000 | w / 1000000000 << 32;
}

static uint64_t nines_swapped(uint64_t w)
{
	return w % 1000000000 << 32 | w / 1000000000 << 32 >> 32;
}

static uint64_t fours(uint64_t w)
{
	uint64_t to = 0;
	for (unsigned k = 0; k < 64; k += 16, w /= 10000)
		to |= w % 10000 << k;
	return to;
}

static uint64_t fours_swapped(uint64_t w)
{
	return pairs(__builtin_bswap64(fours(w)));
}

static uint64_t thirties(uint64_t w) // Python's integers
{
	return (w & ((1u << 30) - 1)) | w >> 30 << 32;
}

static uint64_t real(uint64_t w)
{
	double value = (double)w;
	memcpy(&w, &value, sizeof(w));
	return w;
}

// Of a number of which so many are one.
static uint64_t real_of(uint64_t w, double units)
{
	double value = (double)w / units;
	memcpy(&w, &value, sizeof(w));
	return w;
}

static uint64_t real_thousandth(uint64_t w)
{
	return real_of(w, 1e3);
}

static uint64_t real_millionth(uint64_t w)
{
	return real_of(w, 1e6);
}

static uint64_t real_billionth(uint64_t w)
{
	return real_of(w, 1e9);
}

static uint64_t real_swapped(uint64_t w)
{
	return __builtin_bswap64(real(w));
}

// The first TURNED are looked for rotated, too.
static uint64_t (*const CODES[])(uint64_t w) = {same,           bits_of_all,
						bytes_of_all,   nibbles,
						bits_of_bytes,  gray,
						from_gray,      nibbles_of_all,
						quarters,       pairs,
						zigzag,         swapped_halves,
						packed_decimal, packed_decimal_swapped,
						nines,          nines_swapped,
						fours,          fours_swapped,
						thirties,       real,
						real_swapped,   real_thousandth,
						real_millionth, real_billionth};
enum { CODES_N = sizeof(CODES) / sizeof(*CODES), SIGNS = 3 };

// As it is, as a complement, or negated before it is recoded.
static uint64_t with_sign(unsigned sign, uint64_t word)
{
	return sign == 2 ? -word : sign ? ~word : word;
}

static bool is_plain(unsigned char c)
{
	return c == 0 || c == 0xff;
}

static unsigned telling(const char *part)
{
	unsigned n = 0;
	for (unsigned k = 0; k < PART; k++)
		n += !is_plain((unsigned char)part[k]);
	return n;
}

// The half that tells more.
static uint8_t half_of(const struct image *i)
{
	return telling(i->bytes + PART) > telling(i->bytes) ? PART : 0;
}

// At any byte: of a word at a multiple of four, either half will do.
static void word_of(uint64_t word, struct image *i)
{
	i->n = WORD;
	memcpy(i->bytes, &word, WORD);
	i->parts = IMAGES_PARTS;
	i->at[0] = half_of(i);
	for (unsigned k = 1; k < IMAGES_PARTS; k++)
		i->at[k] = (uint8_t)k;
}

// At a multiple of four.
static void turned_of(uint64_t word, struct image *i)
{
	word_of(word, i);
	i->parts = 1;
}

// Of so few bits that some number is the same, or its complement.
static bool has_few_bits(uint64_t word)
{
	uint64_t other = ~word;
	return !word || !other || word >> __builtin_ctzll(word) >> FEW_BITS == 0 ||
	       other >> __builtin_ctzll(other) >> FEW_BITS == 0;
}

// ------------------------------------------------------------------- all

unsigned images_count(void)
{
	return TEXTS_N + SIGNS * CODES_N + SIGNS * TURNED * ROTATIONS;
}

unsigned images_texts(void)
{
	return TEXTS_N;
}

bool image_of(unsigned which, uint64_t address, struct image *i)
{
	i->base = i->radix = 0;
	if (which < TEXTS_N)
		return (address >= FOUR_GIB || which < IMAGES_OF_ALL) && text_of(which, address, i);
	which -= TEXTS_N;
	i->form = DISGUISE_RECODED;
	uint64_t signed_one = with_sign(which % SIGNS, address);
	which /= SIGNS;
	if (which < CODES_N) {
		word_of(CODES[which](signed_one), i);
		// As it is, search.c and disguise_words.c see it.
		return (which || signed_one != address) && !has_few_bits(CODES[which](signed_one)) &&
		       (address >= FOUR_GIB || (CODES[which] == real && signed_one == address));
	}
	which -= CODES_N;
	uint64_t word = CODES[which % TURNED](signed_one);
	unsigned by = which / TURNED;
	word = by ? word << by | word >> (64 - by) : word;
	turned_of(word, i);
	bool shifted = by && signed_one == address && word == address >> (64 - by); // others look for that
	return by && !shifted && address >= FOUR_GIB && !has_few_bits(word) && !has_few_bits(address);
}

bool image_part(const struct image *i, unsigned part, uint32_t *value)
{
	const char *bytes = i->bytes + i->at[part];
	memcpy(value, bytes, sizeof(*value));
	return i->form != DISGUISE_RECODED || telling(bytes) >= TELLING_LEAST;
}

static bool is_digit(unsigned base, char c)
{
	const char *lower = memchr(LOWER, c, base), *upper = memchr(UPPER, c, base);
	return lower || upper;
}

// Zeros may precede it.
static bool is_alone(const struct image *i, const char *bytes, size_t n, size_t from)
{
	if (from + i->n < n && is_digit(i->base, bytes[from + i->n]))
		return false;
	while (from && bytes[from - 1] == '0')
		from--;
	return !from || !is_digit(i->base, bytes[from - 1]);
}

bool image_at(const struct image *i, const char *bytes, size_t n, size_t at)
{
	for (unsigned k = 0; k < i->parts; k++) {
		size_t before = i->at[k];
		if (before <= at && at - before + i->n <= n && !memcmp(bytes + at - before, i->bytes, i->n) &&
		    (!i->base || is_alone(i, bytes, n, at - before)))
			return true;
	}
	return false;
}
