// SPDX-License-Identifier: MIT
// The timeline's lanes: bins at several widths, or slices where every one is there, found by time.

// The last place whose start is not after t, of numbers that rise.
function placeBefore(starts, t) {
	let low = 0,
		high = starts.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (starts[middle] <= t) low = middle + 1;
		else high = middle;
	}
	return Math.max(0, low - 1);
}

// Cells, flat as they come, with the time at which each begins.
function decodeLevel(level, fields) {
	const n = level.cells.length / fields,
		starts = new Float64Array(n);
	for (let i = 0, bin = 0; i < n; i++) {
		starts[i] = bin * level.width;
		bin += level.cells[i * fields];
	}
	return {width: level.width, fields, cells: level.cells, starts, n};
}

// The widest bins that are still narrow on the screen, else the finest.
function levelFor(levels, nsPerPixel) {
	for (let i = levels.length - 1; i > 0; i--) if (levels[i].width <= nsPerPixel * 2) return levels[i];
	return levels[0];
}

const inProcess = image => (image !== null && processOf(image) ? `, ${processOf(image)}` : "");

class ThreadLane {
	constructor(from) {
		this.kind = "thread";
		this.height = 36;
		this.from = from;
		this.levels = from.levels.map(l => decodeLevel(l, 7));
		this.name = `thread ${from.tid}` + (from.name ? ` “${from.name}”` : "");
		this.more = some(from.switches, "switch", "switches") + inProcess(from.image);
		if (from.who) {
			this.starts = new Float64Array(from.who.length + 1);
			this.starts[0] = from.first;
			from.ns.forEach((ns, i) => {
				this.starts[i + 1] = this.starts[i] + ns;
			});
		}
	}
	// [first, end) of the slices between two times; null: not one by one, or too many.
	slices(t0, t1, most) {
		if (!this.starts) return null;
		const first = placeBefore(this.starts, t0),
			end = Math.min(this.from.who.length, placeBefore(this.starts, t1) + 1);
		return end - first <= most ? [first, end] : null;
	}
	whoAt(t) {
		const i = placeBefore(this.starts, t);
		return t >= this.starts[0] && i < this.from.who.length ? this.from.who[i] : 0;
	}
}

class CoroutineLane {
	constructor(from) {
		this.kind = "coroutine";
		this.height = 26;
		this.from = from;
		this.levels = from.levels.map(l => decodeLevel(l, 5));
		this.row = rowOf(from.image, from.id);
		this.name = `${from.id} ${this.row < 0 ? "" : rowTitle(this.row)}`;
		this.more = some(from.switches, "time") + " resumed";
		this.finding = this.row < 0 ? undefined : report.findings[rows.finding[this.row] - 1];
		this.stuckFrom = Infinity;
		if (this.finding && this.finding.waiting)
			// from its own suspension on, or from what was done to its wait
			this.stuckFrom = Math.max(
				rows.since[this.row] * 1000,
				this.finding.inVain[this.finding.ids.indexOf(from.id)] || 0
			);
	}
}

class GroupLane {
	constructor(from, spanNs) {
		this.kind = "group";
		this.height = 48;
		this.from = from;
		this.n = from.bins.length / 3;
		this.width = spanNs / this.n;
		this.most = from.peak;
		this.name = from.name;
		this.more = `${some(from.made, "coroutine")}, ${count(this.most)} at once${inProcess(from.image)}`;
	}
}

// Events of the program's own, on the lane of the thread and on that of the coroutine that signalled them.
function placeEvents(lanes, events) {
	for (const lane of lanes) {
		const of = lane.from,
			mine = e =>
				lane.kind === "thread"
					? e[1] === of.tid && e[3] === of.image
					: lane.kind === "coroutine" && e[2] === of.id && e[3] === of.image;
		lane.events = events.filter(mine);
		lane.eventStarts = lane.events.map(e => e[0]);
	}
}

// Those of a coroutine, the first ones.
function eventsOf(image, id) {
	const t = report.timeline;
	return ((t && t.events) || []).filter(e => e[2] === id && e[3] === image);
}

let rowPlaces;
function rowOf(image, id) {
	if (!rowPlaces) {
		rowPlaces = new Map();
		for (let i = 0; i < rows.n; i++) rowPlaces.set(rows.image[i] * 2 ** 40 + rows.id[i], i);
	}
	const at = rowPlaces.get((image || 0) * 2 ** 40 + id);
	return at === undefined ? -1 : at;
}

function runnerName(image, id) {
	const row = rowOf(image, id);
	return row < 0 ? `${id}` : `${id} ${rowTitle(row)}`;
}

// Where each coroutine that has a lane ran, from the threads' slices.
function runsOf(lanes, threads) {
	const wanted = new Map(lanes.map(l => [(l.from.image || 0) * 2 ** 40 + l.from.id, l]));
	for (const l of lanes) l.runs = {starts: [], ends: [], ready: []};
	for (const t of threads)
		t.from.who.forEach((id, i) => {
			const lane = wanted.get((t.from.image || 0) * 2 ** 40 + id);
			if (lane) {
				lane.runs.starts.push(t.starts[i]);
				lane.runs.ends.push(t.starts[i + 1]);
				lane.runs.ready.push(t.from.ready[i]);
			}
		});
	for (const l of lanes) {
		const order = l.runs.starts.map((_, i) => i).sort((a, b) => l.runs.starts[a] - l.runs.starts[b]);
		const sorted = of => order.map(i => of[i]);
		l.runs = {starts: sorted(l.runs.starts), ends: sorted(l.runs.ends), ready: sorted(l.runs.ready)};
	}
}
