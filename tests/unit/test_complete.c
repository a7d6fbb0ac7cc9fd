// SPDX-License-Identifier: MIT
//
// Completion scripts: what they offer is what the rows say. That shells understand them is tried in
// tests/e2e/check_completion.py.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/complete.h"

static const struct option_row rows[] = {
	{ "output", 'o', "FILE", "write it there: to a file", OPTION_CALL },
	{ "color", 0, "auto|never", "a program's colors (maybe)", OPTION_CALL },
	{ "size", 0, "SIZE|SECONDSs", "how [large]", OPTION_CALL, .may_lack_value = true },
	{ "rule", 0, "RULE,...", "some rules", OPTION_CALL },
	{ "quiet", 'q', NULL, "say less", OPTION_CALL },
	{ "hidden", 0, NULL, NULL, OPTION_CALL },
};
static const struct options_table table = { rows, sizeof(rows) / sizeof(*rows) };
static char *text;

static void write_for(const char *shell, enum complete_words words)
{
	size_t n;
	free(text);
	FILE *to = open_memstream(&text, &n);
	assert_int_equal(complete_write(to, &(struct complete_of){ "ctp-x", &table, words, "go stop" }, shell), 0);
	fclose(to);
}

static void has(const char *what, bool wanted)
{
	if (!strstr(text, what) == wanted)
		fail_msg("%s%s: %s", wanted ? "" : "not ", what, text);
}

static void bash_offers_options_and_values(void **state)
{
	write_for("bash", COMPLETE_FILES);
	has("-W '--output= --color= --size --rule= --quiet' --", true);
	has("\t--color)\n\t\tCOMPREPLY=($(compgen -W 'auto never' -- \"$cur\"))\n", true);
	has("\t--output | -o)\n\t\tcompopt -o filenames\n", true);
	has("--list-rules", true);
	has("hidden", false);
	has("_command_offset", false);
	has("complete -F _ctp_x ctp-x\n", true);
	write_for("bash", COMPLETE_COMMAND);
	has("_command_offset $i", true);
	has("--output | -o | --color | --rule)", true); // the options that a word of their own follows
	write_for("bash", COMPLETE_PIDS);
	has("$(ctp-x 2>/dev/null", true);
}

static void zsh_offers_options_and_values(void **state)
{
	write_for("zsh", COMPLETE_FILES);
	has("#compdef ctp-x\n", true);
	has("\t'(-o --output)'{-o+,--output=}'[write it there]:value:_files' \\\n", true);
	has("\t'--color=[a program'\\''s colors]:value:(auto never)' \\\n", true);
	has("\t'--size=-[how large]::value:' \\\n", true);
	has("\t'(-q --quiet)'{-q,--quiet}'[say less]' \\\n", true);
	has("hidden", false);
	has("'*:trace:_files'\n", true);
	write_for("zsh", COMPLETE_COMMAND);
	has("'*::argument:_normal'\n", true);
}

static void fish_offers_options_and_values(void **state)
{
	write_for("fish", COMPLETE_FILES);
	has("complete -c ctp-x -l output -s o -r -F -d 'write it there'\n", true);
	has("complete -c ctp-x -l color -x -a 'auto never' -d 'a program'\\''s colors'\n", true);
	has("complete -c ctp-x -l size -d 'how large'\n", true);
	has("complete -c ctp-x -l quiet -s q -d 'say less'\n", true);
	has("hidden", false);
	has("__fish_complete_subcommand", false);
	write_for("fish", COMPLETE_COMMAND);
	has("(__fish_complete_subcommand -- --output -o --color --rule)", true);
}

static void verbs_follow_a_process(void **state)
{
	write_for("bash", COMPLETE_VERBS);
	has("\t1) COMPREPLY=($(compgen -W 'go stop' -- \"$cur\")) ;;\n", true);
	write_for("zsh", COMPLETE_VERBS);
	has("'2:verb:(go stop)'", true);
	has("*:trace", false);
	write_for("fish", COMPLETE_VERBS);
	has("-a 'go stop'", true);
}

static void other_shells_are_refused(void **state)
{
	assert_int_equal(complete_write(stdout, &(struct complete_of){ "ctp-x", &table, COMPLETE_FILES }, "csh"), -EINVAL);
}

static int end(void **state)
{
	free(text);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bash_offers_options_and_values),
		cmocka_unit_test(zsh_offers_options_and_values),
		cmocka_unit_test(fish_offers_options_and_values),
		cmocka_unit_test(verbs_follow_a_process),
		cmocka_unit_test(other_shells_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, end);
}
