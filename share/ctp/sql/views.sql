-- SPDX-License-Identifier: MIT
-- Twelve questions, as views over the tables of spec/sql.md: for SQLite, PostgreSQL and MariaDB.
-- Every view joins traces: rows of a trace whose row is not there do not count.

-- What is wrong, in how many traces and on how many hosts, since when?
CREATE VIEW findings_by_fingerprint AS
SELECT f.fingerprint, f.rule, f.verdict, count(*) AS traces, count(DISTINCT f.host) AS hosts,
       sum(f.coroutines) AS coroutines, min(f.started_ns) AS first_seen_ns, max(f.started_ns) AS last_seen_ns,
       min(f.site) AS site, min(f.closer_site) AS closer_site
FROM findings f JOIN traces t ON t.id = f.trace
GROUP BY f.fingerprint, f.rule, f.verdict;

-- Which line is to be changed?
CREATE VIEW findings_by_site AS
SELECT f.rule, f.verdict, coalesce(f.closer_site, f.site) AS site, coalesce(f.closer_file, f.file) AS file,
       coalesce(f.closer_line, f.line) AS line, f.site AS waits_in, count(*) AS traces,
       sum(f.coroutines) AS coroutines
FROM findings f JOIN traces t ON t.id = f.trace
GROUP BY f.rule, f.verdict, coalesce(f.closer_site, f.site), coalesce(f.closer_file, f.file),
         coalesce(f.closer_line, f.line), f.site;

-- Which coroutines are lost, and for how long have they waited?
CREATE VIEW lost_coroutines AS
SELECT f.trace, f.id AS finding, f.rule, f.verdict, c.coroutine, c.suspended_ns, f.site, f.fd, f.fd_gen, f.fd_name
FROM finding_coroutines c JOIN findings f ON f.trace = c.trace AND f.id = c.finding
     JOIN traces t ON t.id = c.trace;

-- Where is time waited?
CREATE VIEW waits_by_site AS
SELECT s.site, s.file, s.line, sum(s.n) AS waits, sum(s.sum_ns) AS total_ns, max(s.max_ns) AS longest_ns
FROM sites s JOIN traces t ON t.id = s.trace WHERE s.measure = 'wait'
GROUP BY s.site, s.file, s.line;

-- Where does it take long from an event until the coroutine goes on?
CREATE VIEW latency_by_site AS
SELECT s.site, s.file, s.line, sum(s.n) AS events, sum(s.sum_ns) AS total_ns, max(s.max_ns) AS longest_ns
FROM sites s JOIN traces t ON t.id = s.trace WHERE s.measure = 'latency'
GROUP BY s.site, s.file, s.line;

-- Where do coroutines run long before they leave?
CREATE VIEW slices_by_site AS
SELECT s.site, s.file, s.line, sum(s.n) AS slices, sum(s.sum_ns) AS total_ns, max(s.max_ns) AS longest_ns
FROM sites s JOIN traces t ON t.id = s.trace WHERE s.measure = 'slice'
GROUP BY s.site, s.file, s.line;

-- Within which time are half, and 99 of 100, of the waits, latencies and slices of a place?
CREATE VIEW quantiles_by_site AS
SELECT c.site, c.measure, max(c.total) AS n, min(CASE WHEN c.upto * 2 >= c.total THEN c.le_ns END) AS half_ns,
       min(CASE WHEN c.upto * 100 >= c.total * 99 THEN c.le_ns END) AS p99_ns
FROM (SELECT b.site, b.measure, b.le_ns, sum(b.n) OVER (PARTITION BY b.site, b.measure ORDER BY b.le_ns) AS upto,
             sum(b.n) OVER (PARTITION BY b.site, b.measure) AS total
      FROM (SELECT h.site, h.measure, h.le_ns, sum(h.n) AS n
            FROM histograms h JOIN traces t ON t.id = h.trace WHERE h.site IS NOT NULL
            GROUP BY h.site, h.measure, h.le_ns) b) c
GROUP BY c.site, c.measure;

-- Which coroutines were slowest?
CREATE VIEW slowest_coroutines AS
SELECT c.trace, c.id, c.name, c.entry, c.state, c.longest_wait_ns, c.longest_slice_ns, c.waited_ns, c.ran_ns, c.site
FROM coroutines c JOIN traces t ON t.id = c.trace WHERE c.kind = 'coroutine';

-- Who waited when the trace ended, and where?
CREATE VIEW waiting_by_site AS
SELECT c.site, c.file, c.line, c.account, count(*) AS coroutines, max(c.suspended_ns) AS longest_ns
FROM coroutines c JOIN traces t ON t.id = c.trace WHERE c.kind = 'coroutine' AND c.state = 'suspended'
GROUP BY c.site, c.file, c.line, c.account;

-- Who makes coroutines that do not end?
CREATE VIEW coroutines_by_creator AS
SELECT c.creator_site, c.entry, count(*) AS made,
       sum(CASE WHEN c.state IN ('finished', 'destroyed') THEN 1 ELSE 0 END) AS ended,
       sum(CASE WHEN c.state IN ('finished', 'destroyed') THEN 0 ELSE 1 END) AS left_over
FROM coroutines c JOIN traces t ON t.id = c.trace WHERE c.kind = 'coroutine'
GROUP BY c.creator_site, c.entry;

-- What of a finding is not shown?
CREATE VIEW open_evidence AS
SELECT f.trace, f.id AS finding, f.rule, f.verdict, e.proof, e.holds, e.text
FROM evidence e JOIN findings f ON f.trace = e.trace AND f.id = e.finding JOIN traces t ON t.id = e.trace
WHERE e.holds IS NULL OR NOT e.holds;

-- Which traces tell less than all?
CREATE VIEW trace_coverage AS
SELECT t.id, t.host, t.build_id, t.lost, t.complete, t.undecided, t.coverage FROM traces t
WHERE t.lost > 0 OR NOT t.complete OR t.undecided > 0;
