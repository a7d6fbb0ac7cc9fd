-- SPDX-License-Identifier: MIT
-- Made by scripts/sql-schema from src/analyze/export/schema.c and the views beside: spec/sql.md

CREATE TABLE IF NOT EXISTS "coroutines" ( -- every coroutine, and each thread's own stack
  "trace" INTEGER NOT NULL, -- traces.id
  "id" INTEGER NOT NULL, -- never reused within the trace
  "kind" TEXT NOT NULL, -- coroutine, or thread: a thread's own stack, which counts as no coroutine
  "pid" INTEGER, -- of its process
  "name" TEXT, -- that the program gave it
  "entry" TEXT, -- the function that it was made for
  "entry_file" TEXT, -- source file of that function
  "entry_line" INTEGER, -- line there
  "state" TEXT NOT NULL, -- created, suspended, running, finished or destroyed
  "account" TEXT, -- of a suspended one: in findings, healthy, parked, pooled or undecided
  "changes" INTEGER NOT NULL, -- times that it was suspended or resumed
  "created_ns" INTEGER, -- ns from the trace's start
  "ended_ns" INTEGER, -- ns from the trace's start; finished and destroyed ones
  "since_ns" INTEGER, -- ns from the trace's start of its last change
  "suspended_ns" INTEGER, -- ns from then to the snapshot, of a suspended one
  "creator" INTEGER, -- coroutines.id of its creator
  "creator_site" TEXT, -- function that made it
  "creator_stack" INTEGER, -- stacks.id
  "site" TEXT, -- function where it is suspended or left last: the innermost that is no library's
  "file" TEXT, -- source file of site
  "line" INTEGER, -- line there
  "stack" INTEGER, -- stacks.id of where it is suspended or left last
  "fd" INTEGER, -- descriptor that it waits for, the first one
  "fd_gen" INTEGER, -- generation of that number: fd 7, 3 is the third thing that was called 7
  "ran_ns" INTEGER NOT NULL, -- ns that it ran, as far as the history tells
  "waited_ns" INTEGER NOT NULL, -- ns that it was suspended and then resumed, as far as the history tells
  "longest_slice_ns" INTEGER NOT NULL, -- ns of its longest run without leaving
  "longest_wait_ns" INTEGER NOT NULL, -- ns of its longest wait that ended
  PRIMARY KEY ("trace", "id")
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "sites" ( -- how long coroutines waited and ran, by stack: the history added up
  "trace" INTEGER NOT NULL, -- traces.id
  "stack" INTEGER NOT NULL, -- stacks.id
  "measure" TEXT NOT NULL, -- wait: suspended there, then resumed; latency: from the event until it was resumed; slice: ran, then left there
  "site" TEXT, -- the stack's innermost function that is no library's
  "file" TEXT, -- its source file
  "line" INTEGER, -- line there
  "n" INTEGER NOT NULL, -- how often
  "sum_ns" INTEGER NOT NULL, -- ns in all
  "max_ns" INTEGER NOT NULL, -- ns of the longest
  PRIMARY KEY ("trace", "stack", "measure")
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "histograms" ( -- the same as histograms, from which quantiles are made
  "trace" INTEGER NOT NULL, -- traces.id
  "stack" INTEGER NOT NULL, -- stacks.id
  "measure" TEXT NOT NULL, -- as in sites
  "le_ns" INTEGER NOT NULL, -- ns, upper bound of the bucket: powers of two and three steps between two of them
  "site" TEXT, -- as in sites
  "n" INTEGER NOT NULL, -- how many are above the bound before and not above this one
  PRIMARY KEY ("trace", "stack", "measure", "le_ns")
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "switches" ( -- every switch
  "trace" INTEGER NOT NULL, -- traces.id
  "seq" INTEGER NOT NULL, -- 1, 2 ... in the order of the trace
  "t_ns" INTEGER NOT NULL, -- ns from the trace's start
  "tid" INTEGER NOT NULL, -- thread
  "from_id" INTEGER, -- coroutines.id of the outgoing one; null: not known
  "from_n" INTEGER, -- which of its changes it is
  "to_id" INTEGER, -- coroutines.id of the incoming one; null: not known
  "to_n" INTEGER, -- which of its changes it is
  "how" TEXT NOT NULL, -- swap, set, gone, return, jump, fcontext, ontop; station: of a version-1 probe
  "stack" INTEGER, -- stacks.id of where from_id left
  PRIMARY KEY ("trace", "seq")
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "waits" ( -- every time that a coroutine was suspended
  "trace" INTEGER NOT NULL, -- traces.id
  "seq" INTEGER NOT NULL, -- 1, 2 ... in the order of their ends; those that did not end last
  "coroutine" INTEGER NOT NULL, -- coroutines.id
  "began_ns" INTEGER NOT NULL, -- ns from the trace's start
  "ended_ns" INTEGER, -- ns from the trace's start; null: still suspended when the trace ended
  "duration_ns" INTEGER, -- ns
  "stack" INTEGER, -- stacks.id of where it was suspended
  "fd" INTEGER, -- whose event made it ready
  "fd_gen" INTEGER, -- generation of that number
  "ready_ns" INTEGER, -- ns from the trace's start, when that event was taken
  "latency_ns" INTEGER, -- ns from the event until it was resumed
  PRIMARY KEY ("trace", "seq")
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "slices" ( -- every time that a coroutine ran
  "trace" INTEGER NOT NULL, -- traces.id
  "seq" INTEGER NOT NULL, -- 1, 2 ... in the order of their ends
  "coroutine" INTEGER NOT NULL, -- coroutines.id
  "tid" INTEGER NOT NULL, -- thread on which it left
  "began_ns" INTEGER NOT NULL, -- ns from the trace's start
  "ended_ns" INTEGER NOT NULL, -- ns from the trace's start
  "duration_ns" INTEGER NOT NULL, -- ns that it ran without leaving
  "stack" INTEGER, -- stacks.id of where it left
  PRIMARY KEY ("trace", "seq")
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "events" ( -- all other records
  "trace" INTEGER NOT NULL, -- traces.id
  "seq" INTEGER NOT NULL, -- 1, 2 ... in the order of the trace
  "t_ns" INTEGER NOT NULL, -- ns from the trace's start
  "tid" INTEGER NOT NULL, -- thread
  "kind" TEXT NOT NULL, -- create, finish, destroy, fd_open, fd_close, thread, exit, signal, ready, slept, or the number of another kind
  "coroutine" INTEGER, -- coroutines.id of the one that it is about
  "other" INTEGER, -- coroutines.id: of create the creator, of destroy the destroyer, of ready the one that took the event
  "how" TEXT, -- of fd_open and fd_close: the call
  "fd" INTEGER, -- descriptor
  "fd_gen" INTEGER, -- generation of that number
  "value" INTEGER, -- of exit the status, of signal its number, of slept ns, of thread its tid
  "stack" INTEGER, -- stacks.id
  PRIMARY KEY ("trace", "seq")
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "descriptors" ( -- every descriptor number that was seen, as it was last
  "trace" INTEGER NOT NULL, -- traces.id
  "pid" INTEGER, -- of the process whose number it is
  "image" INTEGER NOT NULL, -- which program image of the trace
  "fd" INTEGER NOT NULL, -- the number
  "gen" INTEGER NOT NULL, -- generation of the number: 3 is the third thing that was called so
  "kind" TEXT NOT NULL, -- file, pipe, tcp, udp, unix, eventfd, timerfd, signalfd, epoll, other
  "name" TEXT, -- addresses or path, as the kernel had them at the last look
  "state" TEXT NOT NULL, -- open or closed
  "opened_by_call" TEXT, -- null: it was there before
  "opened_ns" INTEGER, -- ns from the trace's start
  "opener" INTEGER, -- coroutines.id
  "opener_stack" INTEGER, -- stacks.id
  "closed_by_call" TEXT, -- of a closed one
  "closed_ns" INTEGER, -- ns from the trace's start
  "closer" INTEGER, -- coroutines.id
  "closer_stack" INTEGER, -- stacks.id
  "registered_in" INTEGER, -- the epoll set that it was last added to
  PRIMARY KEY ("trace", "image", "fd", "gen")
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "stacks" ( -- where something happened
  "trace" INTEGER NOT NULL, -- traces.id
  "id" INTEGER NOT NULL, -- stack id of the image, plus the image's number * 2^20
  "depth" INTEGER NOT NULL, -- rows of frames
  "site" TEXT, -- innermost function that is no library's; module+0x123 where there is no name
  "file" TEXT, -- its source file
  "line" INTEGER, -- line there
  "guessed" INTEGER NOT NULL, -- at least one frame was found by frame pointer
  "truncated" INTEGER NOT NULL, -- there were more frames than are kept
  PRIMARY KEY ("trace", "id")
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "frames" ( -- the functions of stacks
  "trace" INTEGER NOT NULL, -- traces.id
  "stack" INTEGER NOT NULL, -- stacks.id
  "level" INTEGER NOT NULL, -- 0 is the innermost
  "pc" TEXT NOT NULL, -- address, 0x...
  "module" TEXT, -- path of the object
  "offset_in_module" TEXT NOT NULL, -- address in the object's file, 0x...
  "symbol" TEXT, -- function, demangled
  "file" TEXT, -- source file, as the compiler saw it
  "line" INTEGER, -- line there
  "inlined" INTEGER NOT NULL, -- it stands in the code of the next frame
  PRIMARY KEY ("trace", "stack", "level")
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "findings" ( -- what is wrong, by place
  "trace" INTEGER NOT NULL, -- traces.id
  "id" INTEGER NOT NULL, -- 1, 2 ... in the order of the report
  "rule" TEXT NOT NULL, -- CTP001 ...
  "title" TEXT NOT NULL, -- of the rule
  "verdict" TEXT NOT NULL, -- proven, likely, suspect or inconclusive
  "fingerprint" TEXT NOT NULL, -- 16 hexadecimal digits of rule and functions: the same in other runs and builds
  "coroutines" INTEGER NOT NULL, -- rows of finding_coroutines
  "message" TEXT NOT NULL, -- one sentence
  "host" TEXT NOT NULL, -- as in traces; empty: not known
  "started_ns" INTEGER NOT NULL, -- as in traces; 0: not known
  "build_id" TEXT NOT NULL, -- as in traces; empty: not known
  "pid" INTEGER, -- of the process
  "fd" INTEGER, -- the descriptor that it is about
  "fd_gen" INTEGER, -- generation of that number
  "fd_kind" TEXT, -- as in descriptors
  "fd_name" TEXT, -- addresses or path
  "site" TEXT, -- function where the first coroutine waits, or did it
  "file" TEXT, -- source file of site
  "line" INTEGER, -- line there
  "closer" INTEGER, -- coroutines.id of the closer, or of the one at fault
  "closer_site" TEXT, -- function where that happened: the place to change
  "closer_file" TEXT, -- source file of closer_site
  "closer_line" INTEGER, -- line there
  "waiter_stack" INTEGER, -- stacks.id
  "closer_stack" INTEGER, -- stacks.id
  "creator_stack" INTEGER, -- stacks.id
  "opener_stack" INTEGER, -- stacks.id
  "closure" TEXT, -- unreachable or quiet: by what it is proven
  "refuted_if" TEXT NOT NULL, -- what would show that it is not so
  "fix" TEXT, -- what to do
  "known" INTEGER NOT NULL, -- it stands in the --baseline
  PRIMARY KEY ("trace", "id")
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "finding_coroutines" ( -- which coroutines a finding is about
  "trace" INTEGER NOT NULL, -- traces.id
  "finding" INTEGER NOT NULL, -- findings.id
  "nth" INTEGER NOT NULL, -- 1 is the one that the finding's stacks are of
  "coroutine" INTEGER NOT NULL, -- coroutines.id
  "suspended_ns" INTEGER NOT NULL, -- ns up to the snapshot
  "changes" INTEGER NOT NULL, -- as in coroutines
  PRIMARY KEY ("trace", "finding", "nth")
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "evidence" ( -- what speaks for a finding, and what is open
  "trace" INTEGER NOT NULL, -- traces.id
  "finding" INTEGER NOT NULL, -- findings.id
  "nth" INTEGER NOT NULL, -- 1, 2 ...
  "proof" TEXT NOT NULL, -- P0 to P7; open: a way by which the program's own code could still resume it
  "holds" INTEGER, -- null: could not be decided
  "text" TEXT, -- what was seen
  PRIMARY KEY ("trace", "finding", "nth")
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "timelines" ( -- what happened before a finding
  "trace" INTEGER NOT NULL, -- traces.id
  "finding" INTEGER NOT NULL, -- findings.id
  "nth" INTEGER NOT NULL, -- 1, 2 ... in the order of time
  "t_ns" INTEGER NOT NULL, -- ns from the trace's start
  "coroutine" INTEGER, -- coroutines.id
  "what" TEXT NOT NULL, -- what happened
  PRIMARY KEY ("trace", "finding", "nth")
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "facts" ( -- what is merely so
  "trace" INTEGER NOT NULL, -- traces.id
  "nth" INTEGER NOT NULL, -- 1, 2 ...
  "rule" TEXT NOT NULL, -- CTPnnn, or INFO
  "n" INTEGER NOT NULL, -- how often
  "message" TEXT NOT NULL, -- one sentence
  PRIMARY KEY ("trace", "nth")
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "traces" ( -- one row a trace, written last: a trace counts once its row is there
  "id" INTEGER NOT NULL, -- of this trace in this database: days from 1970-01-01 to its start * 2^38, plus a number by chance
  "uuid" TEXT NOT NULL, -- of the run, as the trace carries it
  "part" INTEGER NOT NULL, -- which snapshot of a --flight run; 0: the trace itself
  "form" TEXT NOT NULL, -- directory, lines (JSON lines) or core
  "host" TEXT, -- on which it ran
  "boot_id" TEXT, -- of that host, /proc/sys/kernel/random/boot_id
  "exe" TEXT, -- the program's file
  "command" TEXT, -- argv[0]; all words with --record-args
  "build_id" TEXT, -- the program's GNU build id, hexadecimal
  "ctp" TEXT, -- the version that recorded it
  "labels" TEXT NOT NULL, -- a JSON object of strings: the trace's own, and those of --label
  "pid" INTEGER, -- of the first process
  "started_ns" INTEGER, -- ns since 1970-01-01 UTC; a time t_ns of this trace is started_ns + t_ns
  "ended_ns" INTEGER, -- ns since 1970-01-01 UTC, at the last snapshot
  "duration_ns" INTEGER NOT NULL, -- ns from attach to the last snapshot
  "events" INTEGER NOT NULL, -- records of every kind in the trace
  "switches" INTEGER NOT NULL, -- control passing from one coroutine or native stack to another
  "lost" INTEGER NOT NULL, -- records dropped, of all threads
  "threads" INTEGER NOT NULL, -- threads that made a record
  "coroutines" INTEGER NOT NULL, -- created + suspended + running + finished + destroyed
  "created" INTEGER, -- coroutines that never ran
  "suspended" INTEGER NOT NULL, -- coroutines that saved themselves and left
  "running" INTEGER NOT NULL, -- coroutines
  "finished" INTEGER NOT NULL, -- coroutines that returned or left for good
  "destroyed" INTEGER, -- coroutines whose stack was released while they were suspended
  "in_findings" INTEGER NOT NULL, -- suspended coroutines in findings about their wait
  "healthy" INTEGER NOT NULL, -- suspended coroutines that wait for what can come
  "parked" INTEGER NOT NULL, -- suspended coroutines without a known wait
  "pooled" INTEGER NOT NULL, -- suspended coroutines that wait in a pool
  "undecided" INTEGER NOT NULL, -- suspended coroutines of which nothing of that can be told
  "healthy_waiters" INTEGER NOT NULL, -- as in the report
  "findings" INTEGER NOT NULL, -- rows of findings
  "complete" INTEGER NOT NULL, -- the last tables are there, so that verdicts could be given
  "coverage" TEXT NOT NULL, -- what was not seen or kept: sentences, one a line
  "tables" TEXT NOT NULL, -- which tables were exported, with commas between
  "analyzed_by" TEXT NOT NULL, -- the version of ctp-analyze that exported it
  "loaded_ns" INTEGER NOT NULL, -- ns since 1970-01-01 UTC, when it was exported
  PRIMARY KEY ("id"),
  UNIQUE ("uuid", "part")
);

CREATE VIEW IF NOT EXISTS findings_by_fingerprint AS
SELECT f.fingerprint, f.rule, f.verdict, count(*) AS traces, count(DISTINCT f.host) AS hosts,
       sum(f.coroutines) AS coroutines, min(f.started_ns) AS first_seen_ns, max(f.started_ns) AS last_seen_ns,
       min(f.site) AS site, min(f.closer_site) AS closer_site
FROM findings f JOIN traces t ON t.id = f.trace
GROUP BY f.fingerprint, f.rule, f.verdict;

CREATE VIEW IF NOT EXISTS findings_by_site AS
SELECT f.rule, f.verdict, coalesce(f.closer_site, f.site) AS site, coalesce(f.closer_file, f.file) AS file,
       coalesce(f.closer_line, f.line) AS line, f.site AS waits_in, count(*) AS traces,
       sum(f.coroutines) AS coroutines
FROM findings f JOIN traces t ON t.id = f.trace
GROUP BY f.rule, f.verdict, coalesce(f.closer_site, f.site), coalesce(f.closer_file, f.file),
         coalesce(f.closer_line, f.line), f.site;

CREATE VIEW IF NOT EXISTS lost_coroutines AS
SELECT f.trace, f.id AS finding, f.rule, f.verdict, c.coroutine, c.suspended_ns, f.site, f.fd, f.fd_gen, f.fd_name
FROM finding_coroutines c JOIN findings f ON f.trace = c.trace AND f.id = c.finding
     JOIN traces t ON t.id = c.trace;

CREATE VIEW IF NOT EXISTS waits_by_site AS
SELECT s.site, s.file, s.line, sum(s.n) AS waits, sum(s.sum_ns) AS total_ns, max(s.max_ns) AS longest_ns
FROM sites s JOIN traces t ON t.id = s.trace WHERE s.measure = 'wait'
GROUP BY s.site, s.file, s.line;

CREATE VIEW IF NOT EXISTS latency_by_site AS
SELECT s.site, s.file, s.line, sum(s.n) AS events, sum(s.sum_ns) AS total_ns, max(s.max_ns) AS longest_ns
FROM sites s JOIN traces t ON t.id = s.trace WHERE s.measure = 'latency'
GROUP BY s.site, s.file, s.line;

CREATE VIEW IF NOT EXISTS slices_by_site AS
SELECT s.site, s.file, s.line, sum(s.n) AS slices, sum(s.sum_ns) AS total_ns, max(s.max_ns) AS longest_ns
FROM sites s JOIN traces t ON t.id = s.trace WHERE s.measure = 'slice'
GROUP BY s.site, s.file, s.line;

CREATE VIEW IF NOT EXISTS quantiles_by_site AS
SELECT c.site, c.measure, max(c.total) AS n, min(CASE WHEN c.upto * 2 >= c.total THEN c.le_ns END) AS half_ns,
       min(CASE WHEN c.upto * 100 >= c.total * 99 THEN c.le_ns END) AS p99_ns
FROM (SELECT b.site, b.measure, b.le_ns, sum(b.n) OVER (PARTITION BY b.site, b.measure ORDER BY b.le_ns) AS upto,
             sum(b.n) OVER (PARTITION BY b.site, b.measure) AS total
      FROM (SELECT h.site, h.measure, h.le_ns, sum(h.n) AS n
            FROM histograms h JOIN traces t ON t.id = h.trace WHERE h.site IS NOT NULL
            GROUP BY h.site, h.measure, h.le_ns) b) c
GROUP BY c.site, c.measure;

CREATE VIEW IF NOT EXISTS slowest_coroutines AS
SELECT c.trace, c.id, c.name, c.entry, c.state, c.longest_wait_ns, c.longest_slice_ns, c.waited_ns, c.ran_ns, c.site
FROM coroutines c JOIN traces t ON t.id = c.trace WHERE c.kind = 'coroutine';

CREATE VIEW IF NOT EXISTS waiting_by_site AS
SELECT c.site, c.file, c.line, c.account, count(*) AS coroutines, max(c.suspended_ns) AS longest_ns
FROM coroutines c JOIN traces t ON t.id = c.trace WHERE c.kind = 'coroutine' AND c.state = 'suspended'
GROUP BY c.site, c.file, c.line, c.account;

CREATE VIEW IF NOT EXISTS coroutines_by_creator AS
SELECT c.creator_site, c.entry, count(*) AS made,
       sum(CASE WHEN c.state IN ('finished', 'destroyed') THEN 1 ELSE 0 END) AS ended,
       sum(CASE WHEN c.state IN ('finished', 'destroyed') THEN 0 ELSE 1 END) AS left_over
FROM coroutines c JOIN traces t ON t.id = c.trace WHERE c.kind = 'coroutine'
GROUP BY c.creator_site, c.entry;

CREATE VIEW IF NOT EXISTS open_evidence AS
SELECT f.trace, f.id AS finding, f.rule, f.verdict, e.proof, e.holds, e.text
FROM evidence e JOIN findings f ON f.trace = e.trace AND f.id = e.finding JOIN traces t ON t.id = e.trace
WHERE e.holds IS NULL OR NOT e.holds;

CREATE VIEW IF NOT EXISTS trace_coverage AS
SELECT t.id, t.host, t.build_id, t.lost, t.complete, t.undecided, t.coverage FROM traces t
WHERE t.lost > 0 OR NOT t.complete OR t.undecided > 0;
