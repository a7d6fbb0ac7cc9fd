-- SPDX-License-Identifier: MIT
-- Who made coroutines in the last week that did not end, on how many hosts, on which days?
SELECT creator_site, entry, count() AS made, sum(state NOT IN ('finished', 'destroyed')) AS left_over,
       uniqExact(host) AS hosts, uniqExact(day) AS days, max(day) AS last_day
FROM (SELECT trace, creator_site, entry, state FROM coroutines WHERE kind = 'coroutine')
ANY INNER JOIN (SELECT id AS trace, host, toDate(intDiv(id, 274877906944)) AS day FROM traces
                WHERE id >= (toUInt32(toDate(now())) - 7) * 274877906944
                ORDER BY loaded_ns DESC LIMIT 1 BY uuid, part) USING trace
GROUP BY creator_site, entry
HAVING left_over > 0
ORDER BY left_over DESC, creator_site, entry
