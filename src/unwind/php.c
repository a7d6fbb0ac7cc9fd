// SPDX-License-Identifier: MIT
//
// PHP's interpreter keeps the frame of the script in r14 (execute_ex, a global register variable of GCC's
// builds); what it calls saves that register, so the unwound frames tell it. From there the frames are a
// list. Offsets are those of PHP 8.2 on 64 bits. Another layout is not assumed to be that one: everything is
// checked against something else (the kind of the function, the instruction against the function's own ones,
// its line against the function's lines, strings against their lengths), and what does not fit is no frame.
#include "unwind/php.h"

#include <stdio.h>
#include <string.h>

enum { NATIVE_MOST = 64, INTERNAL = 1, USER = 2, OP_BYTES = 32, OP_LINE = 24, TEXT_MOST = 4096 };

struct execute_data {
	uint64_t opline, call, return_value, function, this_value[2], prev;
};

struct function {
	uint8_t kind, flags[7];
	uint64_t name, scope, prototype, arguments, argument_info, attributes;
	uint32_t temporaries, pad;
	uint64_t cache;
	uint32_t cache_bytes, variables, count, pad2;
	uint64_t opcodes, statics[2], names, references, ranges, range, catches, file;
	uint32_t first_line, last_line;
};
_Static_assert(sizeof(struct function) == 168, "zend_op_array, as far as it is read");

struct text {
	uint64_t head, hash, length;
};

static bool read_text(struct unwind *u, uint64_t at, char *out, size_t bytes)
{
	struct text t;
	char end;
	if (!at || at % 8 || !unwind_peek(u, at, &t, sizeof(t)) || !t.length || t.length > TEXT_MOST ||
	    !unwind_peek(u, at + sizeof(t) + t.length, &end, 1) || end)
		return false;
	size_t n = t.length < bytes ? t.length : bytes - 1;
	if (!unwind_peek(u, at + sizeof(t), out, n) || memchr(out, 0, n))
		return false;
	out[n] = '\0';
	for (char *p = out; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return true;
}

static bool read_name(struct unwind *u, const struct function *f, char *out)
{
	char class[PHP_NAME / 2] = "", name[PHP_NAME] = "";
	uint64_t text;
	if (f->name && !read_text(u, f->name, name, sizeof(name)))
		return false;
	if (f->scope &&
	    (!unwind_peek(u, f->scope + 8, &text, sizeof(text)) || !read_text(u, text, class, sizeof(class))))
		return false;
	if (!*name)
		snprintf(name, sizeof(name), "{main}");
	size_t n = strlen(class);
	memcpy(out, class, n);
	n += (size_t)snprintf(out + n, PHP_NAME - n, "%s", n ? "::" : "");
	memccpy(out + n, name, 0, PHP_NAME - n);
	out[PHP_NAME - 1] = '\0';
	return true;
}

// -1: that is no frame. 0: it has no name of its own.
static int read_frame(struct unwind *u, const struct execute_data *d, struct php_frame *out)
{
	struct function f;
	if (!d->function)
		return 0;
	if (d->function % 8 || !unwind_peek(u, d->function, &f, sizeof(f)))
		return -1;
	if (f.kind == INTERNAL) {
		if (!f.name)
			return 0;
		*out = (struct php_frame){.at = d->function};
		return read_name(u, &f, out->name) ? 1 : -1;
	}
	uint64_t into = d->opline - f.opcodes;
	if (f.kind != USER || into % OP_BYTES || into / OP_BYTES >= f.count || f.first_line > f.last_line)
		return -1;
	*out = (struct php_frame){.at = d->opline};
	if (!unwind_peek(u, d->opline + OP_LINE, &out->line, sizeof(out->line)) || out->line < f.first_line ||
	    out->line > f.last_line || !read_text(u, f.file, out->file, sizeof(out->file)))
		return -1;
	return read_name(u, &f, out->name) ? 1 : -1;
}

size_t php_list(struct unwind *u, uint64_t at, struct php_frame *out, size_t max)
{
	struct execute_data d;
	size_t n = 0, steps = 0;
	bool user = false;
	while (at && n < max && steps++ < 4 * max) {
		if (at % 8 || !unwind_peek(u, at, &d, sizeof(d)))
			return 0;
		int r = read_frame(u, &d, &out[n]);
		if (r < 0)
			return 0;
		user |= r && *out[n].file;
		n += (size_t)r;
		at = d.prev;
	}
	return user ? n : 0;
}

bool php_is(const char *file)
{
	return !strncmp(file, "php", 3) || !strncmp(file, "libphp", 6);
}

size_t php_frames(struct unwind *u, const struct ctp_state *s, uint64_t lo, uint64_t hi,
		  struct php_frame *out, size_t max)
{
	struct unwind_frame frames[NATIVE_MOST];
	size_t n = unwind_frames(u, s, frames, NATIVE_MOST), found = 0;
	for (size_t i = 0; i < n && !found; i++) {
		uint64_t at = s->regs[CTP_REG_S3];
		if (frames[i].pc < lo || frames[i].pc >= hi ||
		    (frames[i].saved[CTP_REG_S3] &&
		     !unwind_peek(u, frames[i].saved[CTP_REG_S3], &at, sizeof(at))))
			continue;
		found = php_list(u, at, out, max);
	}
	return found;
}
