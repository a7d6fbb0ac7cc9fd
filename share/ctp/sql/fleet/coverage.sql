-- SPDX-License-Identifier: MIT
-- Which hosts report loss, or traces without their last tables?
SELECT host, count() AS traces, sum(lost) AS lost_records, sum(complete = 0) AS incomplete, sum(undecided) AS undecided_coroutines,
       toDateTime(intDiv(max(loaded_ns), 1000000000), 'UTC') AS last_export
FROM (SELECT host, lost, complete, undecided, loaded_ns FROM traces ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part)
GROUP BY host
HAVING lost_records > 0 OR incomplete > 0
ORDER BY lost_records DESC, incomplete DESC, host
