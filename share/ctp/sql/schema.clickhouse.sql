-- SPDX-License-Identifier: MIT
-- Made by scripts/sql-schema from src/analyze/export/schema.c and the views beside: spec/sql.md

CREATE TABLE IF NOT EXISTS "coroutines" ( -- every coroutine, and each thread's own stack
  "trace" Int64, -- traces.id
  "id" Int64, -- never reused within the trace
  "kind" String, -- coroutine, or thread: a thread's own stack, which counts as no coroutine
  "pid" Nullable(Int64), -- of its process
  "name" Nullable(String), -- that the program gave it
  "entry" Nullable(String), -- the function that it was made for
  "entry_file" Nullable(String), -- source file of that function
  "entry_line" Nullable(Int64), -- line there
  "state" String, -- created, suspended, running, finished or destroyed
  "account" Nullable(String), -- of a suspended one: in findings, healthy, parked, pooled or undecided
  "changes" Int64, -- times that it was suspended or resumed
  "created_ns" Nullable(Int64), -- ns from the trace's start
  "ended_ns" Nullable(Int64), -- ns from the trace's start; finished and destroyed ones
  "since_ns" Nullable(Int64), -- ns from the trace's start of its last change
  "suspended_ns" Nullable(Int64), -- ns from then to the snapshot, of a suspended one
  "creator" Nullable(Int64), -- coroutines.id of its creator
  "creator_site" Nullable(String), -- function that made it
  "creator_stack" Nullable(Int64), -- stacks.id
  "site" Nullable(String), -- function where it is suspended or left last: the innermost that is no library's
  "file" Nullable(String), -- source file of site
  "line" Nullable(Int64), -- line there
  "stack" Nullable(Int64), -- stacks.id of where it is suspended or left last
  "fd" Nullable(Int64), -- descriptor that it waits for, the first one
  "fd_gen" Nullable(Int64), -- generation of that number: fd 7, 3 is the third thing that was called 7
  "ran_ns" Int64, -- ns that it ran, as far as the history tells
  "waited_ns" Int64, -- ns that it was suspended and then resumed, as far as the history tells
  "longest_slice_ns" Int64, -- ns of its longest run without leaving
  "longest_wait_ns" Int64 -- ns of its longest wait that ended
) ENGINE = MergeTree PARTITION BY toDate(intDiv("trace", 274877906944)) ORDER BY ("trace", "id");

CREATE TABLE IF NOT EXISTS "sites" ( -- how long coroutines waited and ran, by stack: the history added up
  "trace" Int64, -- traces.id
  "stack" Int64, -- stacks.id
  "measure" String, -- wait: suspended there, then resumed; latency: from the event until it was resumed; slice: ran, then left there
  "site" Nullable(String), -- the stack's innermost function that is no library's
  "file" Nullable(String), -- its source file
  "line" Nullable(Int64), -- line there
  "n" Int64, -- how often
  "sum_ns" Int64, -- ns in all
  "max_ns" Int64 -- ns of the longest
) ENGINE = MergeTree PARTITION BY toDate(intDiv("trace", 274877906944)) ORDER BY ("trace", "stack", "measure");

CREATE TABLE IF NOT EXISTS "histograms" ( -- the same as histograms, from which quantiles are made
  "trace" Int64, -- traces.id
  "stack" Int64, -- stacks.id
  "measure" String, -- as in sites
  "le_ns" Int64, -- ns, upper bound of the bucket: powers of two and three steps between two of them
  "site" Nullable(String), -- as in sites
  "n" Int64 -- how many are above the bound before and not above this one
) ENGINE = MergeTree PARTITION BY toDate(intDiv("trace", 274877906944)) ORDER BY ("trace", "stack", "measure", "le_ns");

CREATE TABLE IF NOT EXISTS "switches" ( -- every switch
  "trace" Int64, -- traces.id
  "seq" Int64, -- 1, 2 ... in the order of the trace
  "t_ns" Int64, -- ns from the trace's start
  "tid" Int64, -- thread
  "from_id" Nullable(Int64), -- coroutines.id of the outgoing one; null: not known
  "from_n" Nullable(Int64), -- which of its changes it is
  "to_id" Nullable(Int64), -- coroutines.id of the incoming one; null: not known
  "to_n" Nullable(Int64), -- which of its changes it is
  "how" String, -- swap, set, gone, return, jump, fcontext, ontop; station: of a version-1 probe
  "stack" Nullable(Int64) -- stacks.id of where from_id left
) ENGINE = MergeTree PARTITION BY toDate(intDiv("trace", 274877906944)) ORDER BY ("trace", "seq");

CREATE TABLE IF NOT EXISTS "waits" ( -- every time that a coroutine was suspended
  "trace" Int64, -- traces.id
  "seq" Int64, -- 1, 2 ... in the order of their ends; those that did not end last
  "coroutine" Int64, -- coroutines.id
  "began_ns" Int64, -- ns from the trace's start
  "ended_ns" Nullable(Int64), -- ns from the trace's start; null: still suspended when the trace ended
  "duration_ns" Nullable(Int64), -- ns
  "stack" Nullable(Int64), -- stacks.id of where it was suspended
  "fd" Nullable(Int64), -- whose event made it ready
  "fd_gen" Nullable(Int64), -- generation of that number
  "ready_ns" Nullable(Int64), -- ns from the trace's start, when that event was taken
  "latency_ns" Nullable(Int64) -- ns from the event until it was resumed
) ENGINE = MergeTree PARTITION BY toDate(intDiv("trace", 274877906944)) ORDER BY ("trace", "seq");

CREATE TABLE IF NOT EXISTS "slices" ( -- every time that a coroutine ran
  "trace" Int64, -- traces.id
  "seq" Int64, -- 1, 2 ... in the order of their ends
  "coroutine" Int64, -- coroutines.id
  "tid" Int64, -- thread on which it left
  "began_ns" Int64, -- ns from the trace's start
  "ended_ns" Int64, -- ns from the trace's start
  "duration_ns" Int64, -- ns that it ran without leaving
  "stack" Nullable(Int64) -- stacks.id of where it left
) ENGINE = MergeTree PARTITION BY toDate(intDiv("trace", 274877906944)) ORDER BY ("trace", "seq");

CREATE TABLE IF NOT EXISTS "events" ( -- all other records
  "trace" Int64, -- traces.id
  "seq" Int64, -- 1, 2 ... in the order of the trace
  "t_ns" Int64, -- ns from the trace's start
  "tid" Int64, -- thread
  "kind" String, -- create, finish, destroy, fd_open, fd_close, thread, exit, signal, ready, slept, or the number of another kind
  "coroutine" Nullable(Int64), -- coroutines.id of the one that it is about
  "other" Nullable(Int64), -- coroutines.id: of create the creator, of destroy the destroyer, of ready the one that took the event
  "how" Nullable(String), -- of fd_open and fd_close: the call
  "fd" Nullable(Int64), -- descriptor
  "fd_gen" Nullable(Int64), -- generation of that number
  "value" Nullable(Int64), -- of exit the status, of signal its number, of slept ns, of thread its tid
  "stack" Nullable(Int64) -- stacks.id
) ENGINE = MergeTree PARTITION BY toDate(intDiv("trace", 274877906944)) ORDER BY ("trace", "seq");

CREATE TABLE IF NOT EXISTS "descriptors" ( -- every descriptor number that was seen, as it was last
  "trace" Int64, -- traces.id
  "pid" Nullable(Int64), -- of the process whose number it is
  "image" Int64, -- which program image of the trace
  "fd" Int64, -- the number
  "gen" Int64, -- generation of the number: 3 is the third thing that was called so
  "kind" String, -- file, pipe, tcp, udp, unix, eventfd, timerfd, signalfd, epoll, other
  "name" Nullable(String), -- addresses or path, as the kernel had them at the last look
  "state" String, -- open or closed
  "opened_by_call" Nullable(String), -- null: it was there before
  "opened_ns" Nullable(Int64), -- ns from the trace's start
  "opener" Nullable(Int64), -- coroutines.id
  "opener_stack" Nullable(Int64), -- stacks.id
  "closed_by_call" Nullable(String), -- of a closed one
  "closed_ns" Nullable(Int64), -- ns from the trace's start
  "closer" Nullable(Int64), -- coroutines.id
  "closer_stack" Nullable(Int64), -- stacks.id
  "registered_in" Nullable(Int64) -- the epoll set that it was last added to
) ENGINE = MergeTree PARTITION BY toDate(intDiv("trace", 274877906944)) ORDER BY ("trace", "image", "fd", "gen");

CREATE TABLE IF NOT EXISTS "stacks" ( -- where something happened
  "trace" Int64, -- traces.id
  "id" Int64, -- stack id of the image, plus the image's number * 2^20
  "depth" Int64, -- rows of frames
  "site" Nullable(String), -- innermost function that is no library's; module+0x123 where there is no name
  "file" Nullable(String), -- its source file
  "line" Nullable(Int64), -- line there
  "guessed" UInt8, -- at least one frame was found by frame pointer
  "truncated" UInt8 -- there were more frames than are kept
) ENGINE = MergeTree PARTITION BY toDate(intDiv("trace", 274877906944)) ORDER BY ("trace", "id");

CREATE TABLE IF NOT EXISTS "frames" ( -- the functions of stacks
  "trace" Int64, -- traces.id
  "stack" Int64, -- stacks.id
  "level" Int64, -- 0 is the innermost
  "pc" String, -- address, 0x...
  "module" Nullable(String), -- path of the object
  "offset_in_module" String, -- address in the object's file, 0x...
  "symbol" Nullable(String), -- function, demangled
  "file" Nullable(String), -- source file, as the compiler saw it
  "line" Nullable(Int64), -- line there
  "inlined" UInt8 -- it stands in the code of the next frame
) ENGINE = MergeTree PARTITION BY toDate(intDiv("trace", 274877906944)) ORDER BY ("trace", "stack", "level");

CREATE TABLE IF NOT EXISTS "findings" ( -- what is wrong, by place
  "trace" Int64, -- traces.id
  "id" Int64, -- 1, 2 ... in the order of the report
  "rule" String, -- CTP001 ...
  "title" String, -- of the rule
  "verdict" String, -- proven, likely, suspect or inconclusive
  "fingerprint" String, -- 16 hexadecimal digits of rule and functions: the same in other runs and builds
  "coroutines" Int64, -- rows of finding_coroutines
  "message" String, -- one sentence
  "host" String, -- as in traces; empty: not known
  "started_ns" Int64, -- as in traces; 0: not known
  "build_id" String, -- as in traces; empty: not known
  "pid" Nullable(Int64), -- of the process
  "fd" Nullable(Int64), -- the descriptor that it is about
  "fd_gen" Nullable(Int64), -- generation of that number
  "fd_kind" Nullable(String), -- as in descriptors
  "fd_name" Nullable(String), -- addresses or path
  "site" Nullable(String), -- function where the first coroutine waits, or did it
  "file" Nullable(String), -- source file of site
  "line" Nullable(Int64), -- line there
  "closer" Nullable(Int64), -- coroutines.id of the closer, or of the one at fault
  "closer_site" Nullable(String), -- function where that happened: the place to change
  "closer_file" Nullable(String), -- source file of closer_site
  "closer_line" Nullable(Int64), -- line there
  "waiter_stack" Nullable(Int64), -- stacks.id
  "closer_stack" Nullable(Int64), -- stacks.id
  "creator_stack" Nullable(Int64), -- stacks.id
  "opener_stack" Nullable(Int64), -- stacks.id
  "closure" Nullable(String), -- unreachable or quiet: by what it is proven
  "refuted_if" String, -- what would show that it is not so
  "fix" Nullable(String), -- what to do
  "known" UInt8 -- it stands in the --baseline
) ENGINE = MergeTree PARTITION BY toDate(intDiv("trace", 274877906944)) ORDER BY ("fingerprint", "host", "started_ns", "trace", "id");

CREATE TABLE IF NOT EXISTS "finding_coroutines" ( -- which coroutines a finding is about
  "trace" Int64, -- traces.id
  "finding" Int64, -- findings.id
  "nth" Int64, -- 1 is the one that the finding's stacks are of
  "coroutine" Int64, -- coroutines.id
  "suspended_ns" Int64, -- ns up to the snapshot
  "changes" Int64 -- as in coroutines
) ENGINE = MergeTree PARTITION BY toDate(intDiv("trace", 274877906944)) ORDER BY ("trace", "finding", "nth");

CREATE TABLE IF NOT EXISTS "evidence" ( -- what speaks for a finding, and what is open
  "trace" Int64, -- traces.id
  "finding" Int64, -- findings.id
  "nth" Int64, -- 1, 2 ...
  "proof" String, -- P0 to P7; open: a way by which the program's own code could still resume it
  "holds" Nullable(UInt8), -- null: could not be decided
  "text" Nullable(String) -- what was seen
) ENGINE = MergeTree PARTITION BY toDate(intDiv("trace", 274877906944)) ORDER BY ("trace", "finding", "nth");

CREATE TABLE IF NOT EXISTS "timelines" ( -- what happened before a finding
  "trace" Int64, -- traces.id
  "finding" Int64, -- findings.id
  "nth" Int64, -- 1, 2 ... in the order of time
  "t_ns" Int64, -- ns from the trace's start
  "coroutine" Nullable(Int64), -- coroutines.id
  "what" String -- what happened
) ENGINE = MergeTree PARTITION BY toDate(intDiv("trace", 274877906944)) ORDER BY ("trace", "finding", "nth");

CREATE TABLE IF NOT EXISTS "facts" ( -- what is merely so
  "trace" Int64, -- traces.id
  "nth" Int64, -- 1, 2 ...
  "rule" String, -- CTPnnn, or INFO
  "n" Int64, -- how often
  "message" String -- one sentence
) ENGINE = MergeTree PARTITION BY toDate(intDiv("trace", 274877906944)) ORDER BY ("trace", "nth");

CREATE TABLE IF NOT EXISTS "traces" ( -- one row a trace, written last: a trace counts once its row is there
  "id" Int64, -- of this trace in this database: days from 1970-01-01 to its start * 2^38, plus a number by chance
  "uuid" String, -- of the run, as the trace carries it
  "part" Int64, -- which snapshot of a --flight run; 0: the trace itself
  "form" String, -- directory, lines (JSON lines) or core
  "host" Nullable(String), -- on which it ran
  "boot_id" Nullable(String), -- of that host, /proc/sys/kernel/random/boot_id
  "exe" Nullable(String), -- the program's file
  "command" Nullable(String), -- argv[0]; all words with --record-args
  "build_id" Nullable(String), -- the program's GNU build id, hexadecimal
  "ctp" Nullable(String), -- the version that recorded it
  "labels" String, -- a JSON object of strings: the trace's own, and those of --label
  "pid" Nullable(Int64), -- of the first process
  "started_ns" Nullable(Int64), -- ns since 1970-01-01 UTC; a time t_ns of this trace is started_ns + t_ns
  "ended_ns" Nullable(Int64), -- ns since 1970-01-01 UTC, at the last snapshot
  "duration_ns" Int64, -- ns from attach to the last snapshot
  "events" Int64, -- records of every kind in the trace
  "switches" Int64, -- control passing from one coroutine or native stack to another
  "lost" Int64, -- records dropped, of all threads
  "threads" Int64, -- threads that made a record
  "coroutines" Int64, -- created + suspended + running + finished + destroyed
  "created" Nullable(Int64), -- coroutines that never ran
  "suspended" Int64, -- coroutines that saved themselves and left
  "running" Int64, -- coroutines
  "finished" Int64, -- coroutines that returned or left for good
  "destroyed" Nullable(Int64), -- coroutines whose stack was released while they were suspended
  "in_findings" Int64, -- suspended coroutines in findings about their wait
  "healthy" Int64, -- suspended coroutines that wait for what can come
  "parked" Int64, -- suspended coroutines without a known wait
  "pooled" Int64, -- suspended coroutines that wait in a pool
  "undecided" Int64, -- suspended coroutines of which nothing of that can be told
  "healthy_waiters" Int64, -- as in the report
  "findings" Int64, -- rows of findings
  "complete" UInt8, -- the last tables are there, so that verdicts could be given
  "coverage" String, -- what was not seen or kept: sentences, one a line
  "tables" String, -- which tables were exported, with commas between
  "analyzed_by" String, -- the version of ctp-analyze that exported it
  "loaded_ns" Int64 -- ns since 1970-01-01 UTC, when it was exported
) ENGINE = MergeTree PARTITION BY toDate(intDiv("id", 274877906944)) ORDER BY ("id");

CREATE VIEW IF NOT EXISTS findings_by_fingerprint AS
SELECT fingerprint, rule, verdict, count() AS traces, uniqExact(host) AS hosts, sum(coroutines) AS coroutines,
       min(started_ns) AS first_seen_ns, max(started_ns) AS last_seen_ns, min(site) AS site,
       min(closer_site) AS closer_site
FROM (SELECT fingerprint, rule, verdict, host, coroutines, started_ns, site, closer_site FROM findings
      WHERE trace IN (SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part))
GROUP BY fingerprint, rule, verdict;

CREATE VIEW IF NOT EXISTS findings_by_site AS
SELECT rule, verdict, at_site AS site, at_file AS file, at_line AS line, waits_in, count() AS traces,
       sum(members) AS coroutines
FROM (SELECT rule, verdict, coalesce(closer_site, site) AS at_site, coalesce(closer_file, file) AS at_file,
             coalesce(closer_line, line) AS at_line, site AS waits_in, coroutines AS members
      FROM findings WHERE trace IN (SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part))
GROUP BY rule, verdict, at_site, at_file, at_line, waits_in;

CREATE VIEW IF NOT EXISTS lost_coroutines AS
SELECT trace, finding, rule, verdict, coroutine, suspended_ns, site, fd, fd_gen, fd_name
FROM (SELECT trace, finding, coroutine, suspended_ns FROM finding_coroutines
      WHERE trace IN (SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part))
ALL INNER JOIN (SELECT trace, id AS finding, rule, verdict, site, fd, fd_gen, fd_name FROM findings)
USING trace, finding;

CREATE VIEW IF NOT EXISTS waits_by_site AS
SELECT site, file, line, sum(n) AS waits, sum(sum_ns) AS total_ns, max(max_ns) AS longest_ns
FROM sites
WHERE measure = 'wait' AND trace IN (SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part)
GROUP BY site, file, line;

CREATE VIEW IF NOT EXISTS latency_by_site AS
SELECT site, file, line, sum(n) AS events, sum(sum_ns) AS total_ns, max(max_ns) AS longest_ns
FROM sites
WHERE measure = 'latency' AND trace IN (SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part)
GROUP BY site, file, line;

CREATE VIEW IF NOT EXISTS slices_by_site AS
SELECT site, file, line, sum(n) AS slices, sum(sum_ns) AS total_ns, max(max_ns) AS longest_ns
FROM sites
WHERE measure = 'slice' AND trace IN (SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part)
GROUP BY site, file, line;

CREATE VIEW IF NOT EXISTS quantiles_by_site AS
SELECT site, measure, sum(weight) AS n, quantileExactWeighted(0.5)(le_ns, weight) AS half_ns,
       quantileExactWeighted(0.99)(le_ns, weight) AS p99_ns
FROM (SELECT site, measure, le_ns, toUInt64(n) AS weight FROM histograms
      WHERE site IS NOT NULL AND trace IN (SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part))
GROUP BY site, measure;

CREATE VIEW IF NOT EXISTS slowest_coroutines AS
SELECT trace, id, name, entry, state, longest_wait_ns, longest_slice_ns, waited_ns, ran_ns, site
FROM coroutines
WHERE kind = 'coroutine' AND trace IN (SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part);

CREATE VIEW IF NOT EXISTS waiting_by_site AS
SELECT site, file, line, account, count() AS coroutines, max(suspended_ns) AS longest_ns
FROM (SELECT site, file, line, account, suspended_ns FROM coroutines
      WHERE kind = 'coroutine' AND state = 'suspended'
        AND trace IN (SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part))
GROUP BY site, file, line, account;

CREATE VIEW IF NOT EXISTS coroutines_by_creator AS
SELECT creator_site, entry, count() AS made, sum(state IN ('finished', 'destroyed')) AS ended,
       sum(state NOT IN ('finished', 'destroyed')) AS left_over
FROM coroutines
WHERE kind = 'coroutine' AND trace IN (SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part)
GROUP BY creator_site, entry;

CREATE VIEW IF NOT EXISTS open_evidence AS
SELECT trace, finding, rule, verdict, proof, holds, text
FROM (SELECT trace, finding, proof, holds, text FROM evidence
      WHERE (holds IS NULL OR holds = 0)
        AND trace IN (SELECT id FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part))
ALL INNER JOIN (SELECT trace, id AS finding, rule, verdict FROM findings) USING trace, finding;

CREATE VIEW IF NOT EXISTS trace_coverage AS
SELECT id, host, build_id, lost, complete, undecided, coverage
FROM (SELECT id, host, build_id, lost, complete, undecided, coverage FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part)
WHERE lost > 0 OR complete = 0 OR undecided > 0;
