// SPDX-License-Identifier: MIT
// The data block: columns as typed arrays, and what its numbers mean.

const report = JSON.parse(byId("data").textContent);

const STATES = ["created", "waiting", "parked", "suspended", "running", "finished", "destroyed"];
const STATE_HELP = {
	created: "never ran",
	waiting: "waits for descriptors that are open and registered: healthy",
	parked: "suspended without a wait that is known: a pool, a queue, a mutex",
	suspended: "suspended, and what it waits for is not all alive",
	running: "runs on a thread",
	finished: "has returned, or left for good",
	destroyed: "its stack was released while it was suspended"
};
const VERDICTS = ["proven", "likely", "suspect", "inconclusive"];

function column(name, delta) {
	const from = report.coroutines[name],
		n = report.coroutines.n;
	const to = new Float64Array(n);
	if (!Array.isArray(from)) return to.fill(from || 0);
	for (let i = 0, sum = 0; i < n; i++) to[i] = delta ? (sum += from[i]) : from[i];
	return to;
}

const rows = {
	n: report.coroutines.n,
	id: column("id", true),
	image: column("image"),
	name: column("name"),
	state: column("state"),
	stack: column("stack"),
	creator: column("creator"),
	madeAt: column("madeAt"),
	created: column("created", true),
	since: column("since", true),
	changes: column("changes"),
	thread: column("thread"),
	waits: column("waits"),
	fd: column("fd", true),
	gen: column("gen"),
	finding: column("finding"),
	bytes: column("bytes"),
	moreWaits: new Map(),
	given: new Map(report.coroutines.given) // names that the program gave
};
for (const [row, ...wait] of report.coroutines.moreWaits)
	rows.moreWaits.set(row, [...(rows.moreWaits.get(row) || []), wait]);

const rowTitle = i => rowName(i) + (rows.given.has(i) ? ` “${rows.given.get(i)}”` : "");
const rowName = i => report.coroutines.names[rows.name[i]];
const rowState = i => STATES[rows.state[i]];
// How long it has been in this state, up to the last look.
const rowAge = i => (rows.state[i] <= 4 ? Math.max(0, report.trace.snapshotNs - rows.since[i] * 1000) : 0);

// "fd 7#3 tcp EPOLLIN", for each
function rowWaits(i) {
	if (!rows.waits[i]) return [];
	const names = report.coroutines.waitNames;
	const first = `fd ${rows.fd[i]}#${rows.gen[i]} ${names[rows.waits[i] - 1]}`;
	return [first, ...(rows.moreWaits.get(i) || []).map(([fd, gen, name]) => `fd ${fd}#${gen} ${names[name]}`)];
}

// Frames: [function, file, line, source, library?, module, inlined?]
const stackFrames = stack => report.stacks[stack].map(i => report.frames[i]);

function frameAt(f) {
	return f[1] ? `${f[1]}:${f[2]}` : f[5] || "";
}

// "conn_reader server.c:85": the innermost frame that is no library's
function stackSite(stack) {
	const frames = stackFrames(stack);
	const f = frames.find(x => !x[4]) || frames[0];
	return f ? `${f[0]}  ${f[1] ? f[1].replace(/.*\//, "") + ":" + f[2] : f[5] || ""}` : "";
}
const stackSites = new Map();
function siteOf(stack) {
	if (!stackSites.has(stack)) stackSites.set(stack, stackSite(stack));
	return stackSites.get(stack);
}

// Who created it: its row, or -1 (a thread's own stack, or no longer in the tables). Ids are never used twice in one run.
const rowsById = new Map();
function creatorRow(i) {
	if (!rowsById.size) for (let k = 0; k < rows.n; k++) rowsById.set(`${rows.image[k]} ${rows.id[k]}`, k);
	return rowsById.get(`${rows.image[i]} ${rows.creator[i]}`) ?? -1;
}
function creatorOf(i) {
	const row = creatorRow(i);
	return row < 0 ? (rows.creator[i] ? `${rows.creator[i]}, a thread's own stack or a coroutine that is no longer in the tables` : "not known") : `coroutine ${rows.id[row]} ${rowTitle(row)}`;
}

// Which process, where there are several
const processOf = image => (report.trace.processes > 1 ? `process ${report.trace.pids[image]}` : "");

// Why there is no history to show.
const noHistory = () =>
	report.trace.form === "core"
		? "A core file holds the present, no history."
		: report.trace.switches
			? "The history could not be read again: read the trace from a file or a directory."
			: "Nothing was recorded.";
