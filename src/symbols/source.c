// SPDX-License-Identifier: MIT
//
// A trace may come with its own object files. Those can name any file of the analyst as a
// source, to get a line of it into a report that is then passed on. Nothing that an object
// file says of itself counts, its compilation directory included. So a line is shown only
// of a regular file with a source file's name (also after links), and only if the owner of
// the object file could have read that file, or is trusted by the reader anyway.
#include "symbols/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

#define LINE_MOST 4096
#define FILE_MOST (64 << 20)

bool source_is_name(const char *path)
{
	static const char *const suffixes[] = {
		"c",   "h",     "cc",  "hh",  "cpp", "hpp", "cxx", "hxx", "c++",  "h++", "cp",  "C",   "H",
		"i",   "ii",    "inl", "ipp", "tpp", "tcc", "txx", "ixx", "cppm", "m",   "mm",  "S",   "s",
		"asm", "l",     "ll",  "y",   "yy",  "re",  "rs",  "go",  "d",    "di",  "zig", "nim", "cr",
		"v",   "swift", "f",   "F",   "for", "f77", "f90", "F90", "f95",  "f03", "f08", "adb", "ads",
		"pas", "pp",    "ml",  "hs",  "cu",  "cuh", "hip", "cl",  "vala", "def"};
	static const char *const headers[] = {"/usr/include/", "/usr/local/include/", "/usr/lib/gcc/",
					      "/usr/lib/llvm"};
	const char *base = file_base(path), *dot = strrchr(base, '.');
	for (size_t i = 0; dot && dot > base && i < sizeof(suffixes) / sizeof(*suffixes); i++)
		if (!strcmp(dot + 1, suffixes[i]))
			return true;
	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
		if (!strncmp(path, headers[i], strlen(headers[i]))) // <vector>
			return true;
	return false;
}

bool source_may_show(const struct source_teller *by, uid_t reader, uid_t owner, mode_t mode)
{
	if (!by->trusted)
		return false;
	bool own = by->owner == 0 || (reader && by->owner == reader);
	return own || owner == by->owner || (owner == 0 && mode & S_IROTH);
}

// Opens it if it may be shown; path: without links. -1: it may not.
static int open_source(const char *path, const struct source_teller *by)
{
	struct stat st;
	int fd = source_is_name(path) ? file_open(AT_FDCWD, path, O_NOFOLLOW) : -1;
	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && st.st_size <= FILE_MOST &&
	    source_may_show(by, geteuid(), st.st_uid, st.st_mode))
		return fd;
	close(fd);
	return -1;
}

// Of a line that is longer than any should be, the beginning. False: the file ends before, or is no text.
static bool read_line(FILE *f, int number, char line[LINE_MOST])
{
	size_t n = 0;
	int c;
	for (int at = 1; (c = getc_unlocked(f)) != EOF && c && at <= number;) {
		if (at == number && c != '\n' && n < LINE_MOST - 1)
			line[n++] = (char)c;
		at += c == '\n';
	}
	line[n] = 0;
	return n > 0 && c != 0;
}

char *source_line(const char *path, int number, const struct source_teller *by)
{
	char *real = source_is_name(path) ? realpath(path, NULL) : NULL, line[LINE_MOST];
	int fd = real ? open_source(real, by) : -1;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	bool got = f && read_line(f, number, line);
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
	free(real);
	if (!got)
		return NULL;
	size_t n = strlen(line), skip = strspn(line, " \t");
	while (n > skip && strchr(" \t\r\n", line[n - 1]))
		line[--n] = 0;
	for (char *tab = line + skip; (tab = strchr(tab, '\t'));)
		*tab = ' ';
	text_clean(line + skip);
	return n > skip ? strdup(line + skip) : NULL;
}
