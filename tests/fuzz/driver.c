// SPDX-License-Identifier: MIT
//
// Runs one reader on inputs that it does not expect: all seeds as they are, then mutations of them. What the n-th mutation
// is follows from the seed number and n alone, so a failure comes again. Inputs run in a forked child, several in
// one; the parent has each in shared memory before the child reads it, and saves it when the child dies. With sanitizers
// in the build the child dies of every wrong access; without, of crashes, of too much memory and of too much time.
//
//   fuzz-NAME [--runs=N] [--seed=N] [--minutes=N] [--save=DIR] [--keep-going] [--leaks] FILE_OR_FOLDER...
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"
#include "mutate.h"

enum { BATCH = 200, CPU_SECONDS = 30, MEMORY_MB = 1500 };

struct shared { // with the child
	uint64_t n;   // the input that runs
	size_t bytes;
	unsigned char data[FUZZ_MOST];
};

static struct {
	uint64_t runs, seed, minutes;
	const char *save;
	bool keep_going, leaks;
} wants = { .runs = 0, .seed = 1, .save = "." };

static struct mutate_input *seeds;
static size_t nseeds;
static struct shared *shared;

// UBSan goes on after an error unless it is told not to.
const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
	return "halt_on_error=1:print_stacktrace=1";
}
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0:allocator_may_return_null=1:abort_on_error=0:handle_abort=1";
}
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static void die(const char *what, const char *which)
{
	fprintf(stderr, "fuzz: %s %s: %s\n", what, which, strerror(errno));
	exit(2);
}

// ------------------------------------------------------------------- seeds

static void add_file(const char *path)
{
	unsigned char *data = malloc(FUZZ_MOST);
	FILE *f = fopen(path, "re");
	if (!f || !data)
		die("cannot read", path);
	size_t n = fread(data, 1, FUZZ_MOST, f);
	fclose(f);
	seeds = realloc(seeds, (nseeds + 1) * sizeof(*seeds));
	unsigned char *fits = realloc(data, n ? n : 1);
	if (!seeds || !fits)
		die("no memory for", path);
	seeds[nseeds++] = (struct mutate_input){ fits, n };
}

static void add(const char *path)
{
	struct dirent **names;
	struct stat st;
	if (stat(path, &st))
		die("cannot read", path);
	if (!S_ISDIR(st.st_mode)) {
		add_file(path);
		return;
	}
	int n = scandir(path, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		char *file;
		if (*names[i]->d_name != '.' && asprintf(&file, "%s/%s", path, names[i]->d_name) > 0) {
			add(file);
			free(file);
		}
		free(names[i]);
	}
	free(names);
}

// --------------------------------------------------------------- the child

static void limit_time(void)
{
	const struct itimerval t = { .it_value = { .tv_sec = CPU_SECONDS } };
	setitimer(ITIMER_PROF, &t, NULL); // CPU time: a machine that is busy changes nothing
}

// Nothing that the reader may write to: neither our output, nor what it could take for a terminal.
static void run_batch(uint64_t from, uint64_t to)
{
	for (uint64_t n = from; n < to; n++) {
		shared->n = n;
		if (n < nseeds) {
			shared->bytes = seeds[n].bytes;
			memcpy(shared->data, seeds[n].data, seeds[n].bytes);
		} else {
			shared->bytes = mutate(shared->data, seeds, nseeds, wants.seed * 0x9e3779b97f4a7c15u + n);
		}
		// at the end of a block of its own, so that one byte too many is seen
		unsigned char *copy = malloc(shared->bytes + !shared->bytes);
		if (!copy)
			_exit(3);
		memcpy(copy, shared->data, shared->bytes);
		limit_time();
		LLVMFuzzerTestOneInput(copy, shared->bytes);
		free(copy);
		struct rusage use;
		getrusage(RUSAGE_SELF, &use);
		if (use.ru_maxrss / 1024 > MEMORY_MB) {
			fprintf(stderr, "fuzz: more than %d MB\n", MEMORY_MB);
			_exit(4);
		}
	}
	if (wants.leaks && __lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check())
		_exit(5);
	_exit(0);
}

// -------------------------------------------------------------- the parent

static void save(int status)
{
	char *path;
	uint64_t hash = 0xcbf29ce484222325u;
	for (size_t i = 0; i < shared->bytes; i++)
		hash = (hash ^ shared->data[i]) * 0x100000001b3u;
	if (asprintf(&path, "%s/%s-%016" PRIx64, wants.save, fuzz_name, hash) < 0)
		exit(2);
	FILE *f = fopen(path, "we");
	if (!f || fwrite(shared->data, 1, shared->bytes, f) != shared->bytes || fclose(f))
		die("cannot write", path);
	printf("FAIL input %" PRIu64 " of seed %" PRIu64 ": %s %d%s; it is in %s\n", shared->n, wants.seed,
	       WIFSIGNALED(status) ? "signal" : "status", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
	       WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF ? " (too long)" : "", path);
	free(path);
}

// Of the inputs from..to. True: all ran.
static bool batch(uint64_t from, uint64_t to)
{
	int status;
	fflush(stdout);
	pid_t pid = fork();
	if (pid < 0)
		die("cannot", "fork");
	if (!pid)
		run_batch(from, to);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("cannot", "wait");
	fuzz_clean(pid);
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	save(status);
	return false;
}

static bool takes(const char *word, const char *name, uint64_t *to)
{
	size_t n = strlen(name);
	if (strncmp(word, name, n))
		return false;
	*to = strtoull(word + n, NULL, 10);
	return true;
}

static void read_words(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "--save=", 7))
			wants.save = argv[i] + 7;
		else if (!strcmp(argv[i], "--keep-going"))
			wants.keep_going = true;
		else if (!strcmp(argv[i], "--leaks"))
			wants.leaks = true;
		else if (!takes(argv[i], "--runs=", &wants.runs) && !takes(argv[i], "--seed=", &wants.seed) &&
			 !takes(argv[i], "--minutes=", &wants.minutes))
			add(argv[i]);
	}
}

int main(int argc, char **argv)
{
	unsigned failed = 0;
	read_words(argc, argv);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || !nseeds) {
		fprintf(stderr, "fuzz: no inputs; give files or folders\n");
		return 2;
	}
	uint64_t end = nseeds + wants.runs, n = 0;
	time_t until = time(NULL) + (time_t)wants.minutes * 60;
	while ((n < end || (wants.minutes && time(NULL) < until)) && (!failed || wants.keep_going)) {
		uint64_t to = n + BATCH < end || wants.minutes ? n + BATCH : end;
		bool good = batch(n, to);
		failed += !good;
		n = good ? to : shared->n + 1;
	}
	printf("%s: %" PRIu64 " inputs, %zu of them seeds, %u failed\n", fuzz_name, n, nseeds, failed);
	return failed ? 1 : 0;
}
