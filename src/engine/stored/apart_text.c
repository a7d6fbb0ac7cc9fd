// SPDX-License-Identifier: MIT
#include "engine/stored/apart_text.h"

#include <stdbool.h>
#include <string.h>

enum { LEAST = 7, MOST = 32, ADDRESS = 47, HALF = 32 };

static const char *const DIGITS[] = {"0123456789abcdef",
				     "0123456789ABCDEF",
				     "0123456789",
				     "0123456789abcdefghijklmnopqrstuvwxyz",
				     "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
				     "abcdefghijklmnopqrstuvwxyz234567",
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
				     "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
				     "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"};

static bool is_digit(unsigned char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

// False: it is no number of these digits, or too large.
static bool read_number(const char *digits, const unsigned char *text, size_t n, uint64_t *number)
{
	uint64_t base = strlen(digits);
	*number = 0;
	for (size_t i = 0; i < n; i++) {
		const char *d = memchr(digits, text[i], base);
		if (!d || *number >> ADDRESS)
			return false;
		*number = *number * base + (uint64_t)(d - digits);
	}
	return *number >> HALF && !(*number >> ADDRESS);
}

void apart_text(const unsigned char *text, size_t n, void (*found)(void *ctx, uint64_t number), void *ctx)
{
	uint64_t number;
	for (size_t lo = 0, hi; lo < n; lo = hi + 1) {
		for (hi = lo; hi < n && is_digit(text[hi]);)
			hi++;
		for (size_t at = hi - lo > MOST ? hi - MOST : lo; at + LEAST <= hi; at++)
			for (size_t k = 0; k < sizeof(DIGITS) / sizeof(*DIGITS); k++)
				if (read_number(DIGITS[k], text + at, hi - at, &number))
					found(ctx, number);
	}
}

static bool is_hex(unsigned char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static size_t trailing_decimals(const unsigned char *text, size_t n)
{
	size_t k = 0;
	while (k < n && text[n - 1 - k] <= '9')
		k++;
	return k;
}

void apart_numbers(const unsigned char *text, size_t n, void (*found)(void *ctx, uint64_t number), void *ctx)
{
	enum { HEX_LEAST = 9, HEX_MOST = 12, DECIMAL_LEAST = 10, DECIMAL_MOST = 15, DECIMAL = 2 };
	uint64_t number;
	for (size_t lo = 0, hi; lo < n; lo = hi + 1) {
		for (hi = lo; hi < n && is_hex(text[hi]);)
			hi++;
		size_t digits = hi - lo < HEX_MOST ? hi - lo : HEX_MOST;
		for (unsigned k = 0; digits >= HEX_LEAST && k < DECIMAL; k++)
			if (read_number(DIGITS[k], text + hi - digits, digits, &number))
				found(ctx, number);
		digits = trailing_decimals(text + lo, hi - lo);
		if (digits >= DECIMAL_LEAST && digits <= DECIMAL_MOST &&
		    read_number(DIGITS[DECIMAL], text + hi - digits, digits, &number))
			found(ctx, number);
	}
}
