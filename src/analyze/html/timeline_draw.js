// SPDX-License-Identifier: MIT
// How each kind of lane is drawn between two times, and said in words.

// Calls each(x0, x1, cell) for the cells of a level between the view's times.
function eachCell(level, view, each) {
	const {x, t0, t1} = view;
	for (let i = placeBefore(level.starts, t0); i < level.n && level.starts[i] <= t1; i++) {
		const at = i * level.fields,
			end = level.starts[i] + level.cells[at] * level.width;
		if (end >= t0) each(Math.max(view.left, x(level.starts[i])), Math.min(view.right, x(end)), at);
	}
}

// Bars that touch must not show gaps between pixels.
function bar(g, fill, x0, x1, y, height) {
	if (x1 < x0)
		// before what is in sight
		return;
	g.fillStyle = fill;
	g.fillRect(x0, y, Math.max(x1 - x0, 0.7) + 0.3, height);
}

const laneDrawing = {
	thread(g, ink, lane, y, view) {
		const h = lane.height - 2,
			range = lane.slices(view.t0, view.t1, (view.right - view.left) * 2);
		if (range) return this.threadSlices(g, ink, lane, y + 1, h, range, view);
		const level = levelFor(lane.levels, view.perPixel);
		eachCell(level, view, (x0, x1, at) => {
			const c = level.cells,
				runs = (c[at + 1] / 100) * h,
				own = (c[at + 2] / 100) * h,
				asleep = (c[at + 3] / 100) * h;
			bar(g, ink.run, x0, x1, y + 1 + h - runs, runs);
			bar(g, ink.native, x0, x1, y + 1 + h - runs - own, own);
			bar(g, ink.idle, x0, x1, y + 1 + h - runs - own - asleep, asleep);
			if (c[at + 5] && x1 - x0 > 50)
				this.name(g, ink, runnerName(lane.from.image, c[at + 5]), x0, x1, y + h - 5);
		});
	},
	threadSlices(g, ink, lane, y, h, [first, end], view) {
		const {who} = lane.from;
		for (let i = first; i < end; i++) {
			const x0 = Math.max(view.left, view.x(lane.starts[i])),
				x1 = Math.min(view.right, view.x(lane.starts[i + 1])),
				id = who[i];
			bar(g, !id ? ink.idle : id < 0 ? ink.native : ink.run, x0, x1, y, h);
			if (id > 0 && id % 2) {
				// neighbours can be told apart
				g.globalAlpha = 0.22;
				bar(g, ink.bg, x0, x1, y, h);
				g.globalAlpha = 1;
			}
			if (id > 0 && x1 - x0 > 26) this.name(g, ink, runnerName(lane.from.image, id), x0, x1, y + h / 2 + 4);
		}
	},
	name(g, ink, text, x0, x1, y) {
		g.fillStyle = ink.bg;
		g.font = "600 11px system-ui, sans-serif";
		g.save();
		g.beginPath();
		g.rect(x0, y - 14, x1 - x0, 20);
		g.clip();
		g.fillText(text, x0 + 4, y);
		g.restore();
	},
	// A band while it waits, a full bar while it runs.
	coroutine(g, ink, lane, y, view) {
		const h = lane.height - 4,
			level = levelFor(lane.levels, view.perPixel),
			c = level.cells;
		const band = (x0, x1, t) =>
			bar(g, t >= lane.stuckFrom ? ink.blockedHatch : ink.ioHatch, x0, x1, y + 9, lane.height - 18);
		const waits = (t0, t1) => {
			const stuck = Math.max(t0, Math.min(t1, lane.stuckFrom));
			if (stuck > t0) band(Math.max(view.left, view.x(t0)), Math.min(view.right, view.x(stuck)), t0);
			if (t1 > stuck) band(Math.max(view.left, view.x(stuck)), Math.min(view.right, view.x(t1)), stuck);
		};
		const runs = this.runsApart(lane, view);
		eachCell(level, view, (x0, x1, at) => {
			const t0 = level.starts[at / level.fields],
				t1 = t0 + c[at] * level.width;
			if (c[at + 3]) waits(Math.max(t0, lane.from.first), Math.min(t1, lane.from.last));
			if (c[at + 2] && !runs)
				bar(g, ink.readyHatch, x0, x1, y + 4, (lane.height - 8) * Math.max(0.3, c[at + 2] / 100));
			if (c[at + 1] && !runs)
				bar(
					g,
					ink.run,
					x0,
					x1,
					y + 2 + h * (1 - Math.max(0.12, c[at + 1] / 100)),
					h * Math.max(0.12, c[at + 1] / 100)
				);
		});
		for (let i = runs ? runs[0] : 0; runs && i < runs[1]; i++) {
			const {starts, ends, ready} = lane.runs;
			const x0 = Math.max(view.left, view.x(starts[i]));
			if (ready[i])
				bar(
					g,
					ink.readyHatch,
					Math.max(view.left, view.x(starts[i] - ready[i])),
					view.x(starts[i]),
					y + 6,
					lane.height - 12
				);
			bar(g, ink.run, x0, Math.min(view.right, view.x(ends[i])), y + 2, h);
		}
	},
	// [first, end) of its runs in sight, if they stand far enough apart to be seen one by one.
	runsApart(lane, view) {
		if (!lane.runs || !lane.runs.starts.length) return null;
		const {starts, ends} = lane.runs,
			first = placeBefore(starts, view.t0),
			last = placeBefore(starts, view.t1);
		const wide = Math.min(view.right, view.x(ends[last])) - Math.max(view.left, view.x(starts[first]));
		return last - first < 2 || wide / (last - first) > 3 ? [first, Math.min(starts.length, last + 2)] : null;
	},
	group(g, ink, lane, y, view) {
		const h = lane.height - 8,
			b = lane.from.bins,
			first = Math.max(0, Math.floor(view.t0 / lane.width));
		for (let i = first; i < lane.n && i * lane.width <= view.t1; i++) {
			const x0 = Math.max(view.left, view.x(i * lane.width)),
				x1 = Math.min(view.right, view.x((i + 1) * lane.width));
			let base = y + lane.height - 3;
			for (const [k, fill] of [
				[2, ink.run],
				[1, ink.ioHatch],
				[0, ink.idle]
			]) {
				const high = lane.most ? (b[3 * i + k] / lane.most) * h : 0;
				bar(g, fill, x0, x1, base - high, high);
				base -= high;
			}
		}
	}
};

// Events of the program's own: a mark each, with a head, over whatever the lane shows.
function drawEvents(g, ink, lane, y, view) {
	const events = lane.events || [];
	let last = -Infinity;
	for (let i = events.length ? placeBefore(lane.eventStarts, view.t0) : 0; i < events.length; i++) {
		const x = view.x(events[i][0]);
		if (x > view.right) break;
		if (x < view.left || x - last < 1) continue;
		last = x;
		g.fillStyle = ink.accent;
		g.fillRect(x - 0.75, y + 1, 1.5, lane.height - 2);
		g.beginPath();
		g.moveTo(x - 4, y + 1);
		g.lineTo(x + 4, y + 1);
		g.lineTo(x, y + 7);
		g.fill();
	}
}

function eventWordsAt(lane, t, nsPerPixel) {
	return (lane.events || [])
		.filter(e => Math.abs(e[0] - t) <= 4 * nsPerPixel)
		.slice(0, 5)
		.map(e => e[4]);
}

// What a lane shows at a time, in words.
function laneWordsAt(lane, t, nsPerPixel) {
	const out = [lane.name, when(t), ...eventWordsAt(lane, t, nsPerPixel)];
	if (lane.kind === "group") {
		const i = Math.min(lane.n - 1, Math.floor(t / lane.width)),
			b = lane.from.bins,
			about = v => (v >= 10 ? count(Math.round(v)) : String(v));
		return [
			...out,
			`${about(b[3 * i + 2])} run, ${about(b[3 * i + 1])} suspended, ${about(b[3 * i])} created and never run (mean of ${duration(lane.width)})`
		].join("\n");
	}
	if (lane.kind === "thread" && lane.starts && lane.starts.length > 1 && t >= lane.starts[0]) {
		const i = placeBefore(lane.starts, t),
			id = lane.from.who[i];
		if (id !== undefined)
			out.push(
				`${!id ? "asleep, or nobody known" : id < 0 ? "its own stack" : "coroutine " + runnerName(lane.from.image, id)} for ${duration(lane.starts[i + 1] - lane.starts[i])}`
			);
	}
	const level = levelFor(lane.levels, nsPerPixel),
		at = placeBefore(level.starts, t) * level.fields,
		c = level.cells;
	if (!level.n || t < level.starts[0] || t > level.starts[at / level.fields] + c[at] * level.width)
		return [...out, "nothing is known"].join("\n");
	const names = lane.kind === "thread" ? ["coroutines", "own stack", "asleep"] : ["runs", "ready", "waits"];
	out.push(
		names
			.map((n, k) => (c[at + 1 + k] ? `${n} ${c[at + 1 + k]} %` : ""))
			.filter(Boolean)
			.join(", ") +
			` of ${duration(level.width)}` +
			(c[at] > 1 ? `, ${count(c[at])} times the same` : "")
	);
	if (c[at + 4]) out.push(some(c[at + 4], "switch", "switches"));
	if (lane.kind === "thread" && c[at + 5])
		out.push(`mostly coroutine ${runnerName(lane.from.image, c[at + 5])}: ${c[at + 6]} % at least`);
	if (lane.kind === "coroutine" && t >= lane.stuckFrom)
		out.push(
			`in a finding: ${lane.finding.rule} ${lane.finding.title} [${lane.finding.verdict.toUpperCase()}]`
		);
	return out.join("\n");
}
