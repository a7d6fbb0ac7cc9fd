// SPDX-License-Identifier: MIT
//
// symbols.h - maps addresses of a program that ran to function, file and line.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct symbols_module {
	const char *path; // in the target; must outlive the resolver
	uint64_t base;    // load bias: pc - base is the address in the file
	uint64_t start, end;
	uint32_t since; // the first stack id for which it counts; a later one replaces it
	const uint8_t *build_id;
	size_t build_id_len; // 0 = not known
};

struct symbols_frame {
	uint64_t pc;
	uint64_t offset;    // pc - base; the pc itself without a module
	const char *module; // path, or NULL
	const char *symbol; // demangled, or NULL
	uint64_t function;  // of one without a symbol: where it begins, as `offset`; 0: not known
	const char *file;   // whole path as the compiler saw it, or NULL
	const char *dir;    // where it was compiled, or NULL
	int line;           // 0 = unknown
	bool inlined;       // stands in the code of the next frame
};

// What a pc stands for: innermost inlined function first, at least one frame.
struct symbols_place {
	const struct symbols_frame *frames;
	size_t n;
};

struct symbols;

// symfs: a folder in which the target's files lie, or NULL.
#define SYMBOLS_ROOT 40
// The folder below which the files of a process lie that has another mount namespace; false: as ours do.
bool symbols_root(pid_t pid, char out[SYMBOLS_ROOT]);
int symbols_new(struct symbols **out, const struct symbols_module *modules, size_t n, const char *symfs);
void symbols_free(struct symbols *s);
// From `base` on, numbers that stand in stacks for these frames, whose texts must outlive the resolver.
// 0 or -ENOMEM.
int symbols_given(struct symbols *s, uint64_t base, const struct symbols_frame *frames, size_t n);
// From here on this return address is looked up as another one, whose line is that of a co_await, or not for
// certain. 0 or -ENOMEM.
int symbols_moved(struct symbols *s, uint64_t pc, uint64_t to, bool exact);
// Was it said of a return address that its line may be another one than that of its co_await?
bool symbols_near(const struct symbols *s, uint64_t pc);
// From here on addresses are those of this stack: with modules as they were then.
// At first, and with SYMBOLS_LAST, as they were at the end.
#define SYMBOLS_LAST UINT32_MAX
void symbols_as_of(struct symbols *s, uint32_t stack);
// Looks up a pc; is_return says that it is a return address (the call before
// it is meant). 0 or -ENOMEM. The answer lives as long as the resolver.
int symbols_find(struct symbols *s, uint64_t pc, bool is_return, struct symbols_place *out);
// The line at which the function that a pc lies in is declared; 0: not known.
int symbols_declared(struct symbols *s, uint64_t pc);
// Where the coroutine function that a pc lies in awaits, if that is one place; 0: not known.
uint64_t symbols_awaits(struct symbols *s, uint64_t pc);
// How many bytes the promise of the coroutine function that a pc lies in has, if Clang made it; 0: not known.
uint64_t symbols_promise(struct symbols *s, uint64_t pc);
// Which frame of a place is a coroutine's own: who called await_suspend, if that is inlined there; else the
// outermost.
size_t symbols_coroutine(const struct symbols_place *p);
// Modules whose file is another build than the one that ran, or NULL at the end.
const char *symbols_mismatch(const struct symbols *s, size_t i);
// Object files below this folder are not asked for lines of sources: they came with a trace. 0 or -ENOMEM.
int symbols_distrust(struct symbols *s, const char *folder);
// A line of a source file without blanks around it, fit for a terminal: a new string. NULL: there is none, or
// it is not shown (symbols/source.h).
char *symbols_source_line(const struct symbols *s, const struct symbols_frame *f);
