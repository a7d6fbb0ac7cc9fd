// SPDX-License-Identifier: MIT
//
// One script per shell. An option's value is completed by what its row says: the words of a choice, rules, or
// files where the value's name is one of a file's.
#include "base/complete.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define SHORT_HELP 72

enum values { VALUES_NONE, VALUES_WORDS, VALUES_RULES, VALUES_FILES };

static enum values values_of(const struct option_row *row)
{
	static const char *const files[] = {"PATH", "FILE", "F", "DIR", "OLD", "OLD.json"};
	bool capital = false;
	if (!row->value)
		return VALUES_NONE;
	if (!strncmp(row->value, "RULE", 4))
		return VALUES_RULES;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!strcmp(row->value, files[i]))
			return VALUES_FILES;
	for (const char *p = row->value; *p; p++)
		capital |= isupper((unsigned char)*p) != 0;
	return !capital && strchr(row->value, '|') ? VALUES_WORDS : VALUES_NONE;
}

static bool takes_next_word(const struct option_row *row)
{
	return row->value && !row->may_lack_value;
}

// The words of a choice with blanks between them.
static void put_words(FILE *to, const struct option_row *row)
{
	for (const char *p = row->value; *p; p++)
		fputc(*p == '|' ? ' ' : *p, to);
}

// The help up to the first clause's end, for single quotes; what zsh would read otherwise is left out.
static void put_help(FILE *to, const char *help)
{
	size_t n = strlen(help);
	for (size_t i = 0; i < n; i++)
		if (strchr(";:.(", help[i]) && (help[i] == '(' || help[i + 1] == ' ' || !help[i + 1]))
			n = i;
	if (n > SHORT_HELP)
		for (n = SHORT_HELP; n > 1 && help[n] != ' '; n--)
			;
	while (n && strchr(" ,", help[n - 1]))
		n--;
	for (size_t i = 0; i < n; i++)
		if (help[i] == '\'')
			fputs("'\\''", to);
		else if (!strchr("[]:\\", help[i]))
			fputc(help[i], to);
}

// "_ctp_run" of "ctp-run".
static void put_function(FILE *to, const char *command)
{
	fputc('_', to);
	for (; *command; command++)
		fputc(*command == '-' ? '_' : *command, to);
}

// "--output | -o" of a row.
static void put_pattern(FILE *to, const struct option_row *row)
{
	fprintf(to, "--%s", row->name);
	if (row->letter)
		fprintf(to, " | -%c", row->letter);
}

static const struct option_row *shown(const struct complete_of *w, size_t i)
{
	const struct option_row *row = &w->table->rows[i];
	return row->help && row->name ? row : NULL;
}

static void bash_values(FILE *to, const struct option_row *row)
{
	static const char reply[] = "COMPREPLY=($(compgen %s -- \"$cur\"))";
	char how[1024];
	enum values kind = values_of(row);
	if (!takes_next_word(row))
		return;
	fputc('\t', to);
	put_pattern(to, row);
	fputs(")\n", to);
	if (kind == VALUES_FILES) {
		fputs("\t\tcompopt -o filenames\n\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n", to);
	} else if (kind == VALUES_RULES) {
		fputs("\t\tCOMPREPLY=($(compgen -W \"$(ctp-analyze --list-rules | cut -d' ' -f1)\" -- "
		      "\"${cur^^}\"))\n",
		      to);
	} else if (kind == VALUES_WORDS) {
		snprintf(how, sizeof(how), "-W '%s'", row->value);
		for (char *p = how; *p; p++)
			*p = *p == '|' ? ' ' : *p;
		fputs("\t\t", to);
		fprintf(to, reply, how);
		fputc('\n', to);
	}
	fputs("\t\treturn\n\t\t;;\n", to);
}

// Where the program begins whose arguments are not ours.
static void bash_program(FILE *to, const struct complete_of *w)
{
	fputs("\tlocal i\n\tfor ((i = 1; i < COMP_CWORD; i++)); do\n\t\tcase ${COMP_WORDS[i]} in\n"
	      "\t\t--)\n\t\t\t((i++))\n\t\t\tbreak\n\t\t\t;;\n\t\t=) ((i++)) ;;\n",
	      to);
	const char *before = "\t\t";
	for (size_t i = 0; i < w->table->n; i++) {
		const struct option_row *row = shown(w, i);
		if (!row || !takes_next_word(row))
			continue;
		fputs(before, to);
		put_pattern(to, row);
		before = " | ";
	}
	fputs(")\n\t\t\t[ \"${COMP_WORDS[i + 1]}\" = = ] && ((i++))\n\t\t\t((i++))\n\t\t\t;;\n"
	      "\t\t-*) ;;\n\t\t*) break ;;\n\t\tesac\n\tdone\n"
	      "\tif [ $i -lt $COMP_CWORD ] || [[ $i = $COMP_CWORD && $cur != -* && $cur != = ]]; then\n"
	      "\t\tif declare -F _command_offset >/dev/null; then\n\t\t\t_command_offset $i\n"
	      "\t\telif [ $i = $COMP_CWORD ]; then\n\t\t\tcompopt -o filenames\n"
	      "\t\t\tCOMPREPLY=($(compgen -c -f -- \"$cur\"))\n\t\tfi\n\t\treturn\n\tfi\n",
	      to);
}

static void bash(FILE *to, const struct complete_of *w)
{
	fprintf(to, "# %s's completion for bash, printed by %s --completion=bash\n", w->command, w->command);
	put_function(to, w->command);
	fputs("()\n{\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}\n\tCOMPREPLY=()\n",
	      to);
	if (w->words == COMPLETE_COMMAND)
		bash_program(to, w);
	fputs("\t# bash makes three words of --name=value\n"
	      "\tif [ \"$cur\" = = ]; then\n\t\tcur=\n"
	      "\telif [ \"$option\" = = ]; then\n\t\toption=${COMP_WORDS[COMP_CWORD - 2]}\n\tfi\n"
	      "\tcase $option in\n",
	      to);
	for (size_t i = 0; i < w->table->n; i++)
		if (shown(w, i))
			bash_values(to, shown(w, i));
	fputs("\tesac\n\tif [[ $cur = -* ]]; then\n\t\tCOMPREPLY=($(compgen -W '", to);
	for (size_t i = 0; i < w->table->n; i++)
		if (shown(w, i))
			fprintf(to, "%s--%s%s", i ? " " : "", shown(w, i)->name,
				takes_next_word(shown(w, i)) ? "=" : "");
	fputs("' -- \"$cur\"))\n\t\t[[ ${#COMPREPLY[@]} = 1 && ${COMPREPLY[0]} = *= ]] && compopt -o nospace\n"
	      "\t\treturn\n\tfi\n",
	      to);
	if (w->words == COMPLETE_PIDS)
		fprintf(to,
			"\tCOMPREPLY=($(compgen -W \"$(%s 2>/dev/null | awk 'NR > 1 { print $1 }')\" -- \"$cur\"))\n"
			"\t[ ${#COMPREPLY[@]} = 0 ] || return\n",
			w->command);
	if (w->words == COMPLETE_VERBS)
		fprintf(to,
			"\tlocal i words=0\n\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
			"\t\t[[ ${COMP_WORDS[i]} = -* ]] || ((words++))\n\tdone\n"
			"\tcase $words in\n"
			"\t0) COMPREPLY=($(compgen -W \"$(ctp-ps 2>/dev/null | awk 'NR > 1 { print $1 }')\" -- \"$cur\")) ;;\n"
			"\t1) COMPREPLY=($(compgen -W '%s' -- \"$cur\")) ;;\n\tesac\n"
			"\t[ $words -lt 2 ] && return\n",
			w->verbs);
	if (w->words != COMPLETE_COMMAND)
		fputs("\tcompopt -o filenames\n\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n", to);
	fputs("}\ncomplete -F ", to);
	put_function(to, w->command);
	fprintf(to, " %s\n", w->command);
}

static void zsh_row(FILE *to, const struct option_row *row)
{
	enum values kind = values_of(row);
	const char *behind = !row->value ? "" : row->may_lack_value ? "=-" : "=";
	if (row->letter)
		fprintf(to, "\t'(-%c --%s)'{-%c%s,--%s%s}'[", row->letter, row->name, row->letter,
			!row->value         ? "" :
			row->may_lack_value ? "-" :
					      "+",
			row->name, behind);
	else
		fprintf(to, "\t'--%s%s[", row->name, behind);
	put_help(to, row->help);
	fputc(']', to);
	if (row->value)
		fprintf(to, "%s:value:", row->may_lack_value ? ":" : "");
	if (kind == VALUES_WORDS) {
		fputc('(', to);
		put_words(to, row);
		fputc(')', to);
	} else if (kind == VALUES_RULES) {
		fputs("_values -s , rule ${(f)\"$(ctp-analyze --list-rules | cut -c1-6)\"}", to);
	} else if (kind == VALUES_FILES) {
		fputs("_files", to);
	}
	fputs("' \\\n", to);
}

static void zsh(FILE *to, const struct complete_of *w)
{
	fprintf(to, "#compdef %s\n# printed by %s --completion=zsh\n", w->command, w->command);
	if (w->words == COMPLETE_PIDS || w->words == COMPLETE_VERBS)
		fprintf(to,
			"_ctp_pids() {\n\tlocal -a pids\n"
			"\tpids=(${(f)\"$(%s 2>/dev/null | awk 'NR > 1 { print $1 \":\" $7 }')\"})\n"
			"\t_describe 'traced process' pids%s\n}\n",
			w->words == COMPLETE_VERBS ? "ctp-ps" : w->command,
			w->words == COMPLETE_VERBS ? "" : " || _files");
	fputs(w->table->bundles ? "_arguments -s -S \\\n" : "_arguments -S \\\n", to);
	for (size_t i = 0; i < w->table->n; i++)
		if (shown(w, i))
			zsh_row(to, shown(w, i));
	if (w->words == COMPLETE_VERBS) {
		fprintf(to, "\t'1:process:_ctp_pids' \\\n\t'2:verb:(%s)' \\\n\t'3:folder:_files'\n",
			w->verbs);
		return;
	}
	fputs(w->words == COMPLETE_COMMAND ?
		      "\t'(-):program:_command_names -e' \\\n\t'*::argument:_normal'\n" :
	      w->words == COMPLETE_PIDS ? "\t'1:process or core file:_ctp_pids' \\\n\t'*:coroutine:'\n" :
					  "\t'*:trace:_files'\n",
	      to);
}

static void fish_row(FILE *to, const struct complete_of *w, const struct option_row *row)
{
	enum values kind = values_of(row);
	fprintf(to, "complete -c %s%s -l %s", w->command,
		w->words == COMPLETE_COMMAND ? " -n __ctp_no_program" : "", row->name);
	if (row->letter)
		fprintf(to, " -s %c", row->letter);
	if (takes_next_word(row))
		fputs(kind == VALUES_FILES ? " -r -F" : " -x", to);
	if (kind == VALUES_WORDS) {
		fputs(" -a '", to);
		put_words(to, row);
		fputc('\'', to);
	} else if (kind == VALUES_RULES) {
		fputs(" -a '(ctp-analyze --list-rules | string sub -l 6)'", to);
	}
	fputs(" -d '", to);
	put_help(to, row->help);
	fputs("'\n", to);
}

// " --output -o" of each option whose value may be the next word.
static void fish_next_words(FILE *to, const struct complete_of *w)
{
	for (size_t i = 0; i < w->table->n; i++) {
		const struct option_row *row = shown(w, i);
		if (row && takes_next_word(row))
			fprintf(to, row->letter ? " --%s -%c" : " --%s", row->name, row->letter);
	}
}

static void fish(FILE *to, const struct complete_of *w)
{
	fprintf(to, "# %s's completion for fish, printed by %s --completion=fish\n", w->command, w->command);
	if (w->words == COMPLETE_COMMAND) { // behind the program, its options are meant
		fputs("function __ctp_no_program\n\tset -l value 0\n"
		      "\tfor word in (commandline -opc)[2..-1]\n"
		      "\t\tif test $value = 1\n\t\t\tset value 0\n\t\t\tcontinue\n\t\tend\n"
		      "\t\tswitch $word\n\t\t\tcase --\n\t\t\t\treturn 1\n\t\t\tcase",
		      to);
		fish_next_words(to, w);
		fputs("\n\t\t\t\tset value 1\n\t\t\tcase '-*'\n\t\t\tcase '*'\n\t\t\t\treturn 1\n\t\tend\n\tend\nend\n",
		      to);
	}
	for (size_t i = 0; i < w->table->n; i++)
		if (shown(w, i))
			fish_row(to, w, shown(w, i));
	if (w->words == COMPLETE_PIDS)
		fprintf(to,
			"complete -c %s -a \"(%s 2>/dev/null | awk 'NR > 1 { print \\$1 }')\" -d 'traced process'\n",
			w->command, w->command);
	if (w->words == COMPLETE_VERBS)
		fprintf(to,
			"function __ctp_ctl_words\n\tset -l words (string match -v -- '-*' (commandline -opc))\n"
			"\ttest (count $words) = $argv[1]\nend\n"
			"complete -c %s -f -n '__ctp_ctl_words 1' -a \"(ctp-ps 2>/dev/null | awk 'NR > 1 { print \\$1 }')\" -d "
			"'traced process'\n"
			"complete -c %s -f -n '__ctp_ctl_words 2' -a '%s'\n",
			w->command, w->command, w->verbs);
	if (w->words != COMPLETE_COMMAND)
		return;
	fprintf(to, "complete -c %s -x -a '(__fish_complete_subcommand --", w->command);
	fish_next_words(to, w);
	fputs(")'\n", to);
}

int complete_write(FILE *to, const struct complete_of *what, const char *shell)
{
	void (*write)(FILE * to, const struct complete_of *what) = !strcmp(shell, "bash") ? bash :
								   !strcmp(shell, "zsh")  ? zsh :
								   !strcmp(shell, "fish") ? fish :
											    NULL;
	if (!write)
		return -EINVAL;
	write(to, what);
	return 0;
}
