// SPDX-License-Identifier: MIT
// The picture of a finding: a lane for each party, its events in their order. Columns are as
// wide as their texts need, not as time is long; what lies between two is written there.

const LANE = {label: 150, top: 34, height: 74, narrowest: 150, widest: 230};

function laneParties(f) {
	const parties = [{id: f.id, who: f.who, role: f.waiting ? "waiter" : "the one in question"}];
	// in a circle, the ring above has the others
	if (f.actor && f.actor.id !== f.id && (!cycleSteps(f) || f.events.some(e => e.id === f.actor.id)))
		parties.push({id: f.actor.id, who: f.actor.who, role: f.actor.did});
	for (const e of f.events)
		if (e.id && !parties.some(p => p.id === e.id))
			parties.push({id: e.id, who: e.who, role: f.opener && f.opener.id === e.id ? "opener" : ""});
	if (f.events.some(e => !e.id)) parties.push({id: 0, who: "loop and kernel", role: "as ctp-run saw them"});
	return parties;
}

function wrapped(text, most) {
	const lines = [""];
	for (const word of text.split(" ")) {
		const last = lines.length - 1;
		if (lines[last] && lines[last].length + 1 + word.length > most) lines.push(word);
		else lines[last] += (lines[last] ? " " : "") + word;
	}
	return lines;
}

function textLines(x, y, lines, name, anchor) {
	return svg(
		name,
		{x, y, "text-anchor": anchor},
		lines.map((line, i) => svg("tspan", {x, dy: i ? 13 : 0}, line))
	);
}

function patternDefs(id) {
	const hatch = (name, d) =>
		svg(
			"pattern",
			{id: `${id}-${name}`, width: 8, height: 8, patternUnits: "userSpaceOnUse"},
			svg("rect.pat-" + name, {width: 8, height: 8}),
			svg("path.pat-line", {d})
		);
	return svg(
		"defs",
		{},
		hatch("io", "M-2,10 L10,-2 M-2,2 L2,-2 M6,10 L10,6"),
		hatch("blocked", "M0,0 L8,8 M8,0 L0,8")
	);
}

// The waiter's wait: as any other until somebody did to it what the finding is about.
function waitBars(f, id, place, y) {
	const from = f.events.findIndex(e => e.id === f.id);
	if (!f.waiting || from < 0) return [];
	const end = place(f.events.length - 1) + 30;
	let turn = f.actor ? f.events.findIndex((e, i) => i > from && e.id === f.actor.id) : -1;
	if (turn < 0) turn = f.events.findIndex((e, i) => i > from && !e.id);
	if (turn < 0 || turn === f.events.length - 1) turn = from; // nobody did anything
	const middle = place(turn);
	const bar = (x0, x1, name) =>
		svg("rect.bar", {x: x0, y: y - 7, width: Math.max(0, x1 - x0), height: 14, fill: `url(#${id}-${name})`});
	const word = f.verdict === "proven" ? "waits in vain" : "still waits";
	const legend = (x0, x1, text) =>
		x1 - x0 > text.length * 7
			? svg("text.legend", {x: (x0 + x1) / 2, y: y - 12, "text-anchor": "middle"}, text)
			: null;
	return [
		bar(place(from), middle, "io"),
		legend(place(from), middle, "waits"),
		[bar(middle, end, "blocked"), legend(middle, end, word)]
	];
}

function eventMark(f, e, i, x, y) {
	const own = e.id === f.id,
		other = f.actor && e.id === f.actor.id && e.t === f.actor.t; // what the finding is about, and nothing else
	const shape = own
		? svg("circle.mark.own", {cx: x, cy: y, r: 9})
		: other
			? svg("path.mark.other", {d: `M${x},${y - 11} l11,11 l-11,11 l-11,-11 z`})
			: svg("rect.mark", {x: x - 9, y: y - 9, width: 18, height: 18});
	return svg(
		"g",
		{},
		svg("title", {}, `${when(e.t)} ${e.what}`),
		shape,
		svg("text.number", {x, y: y + 4, "text-anchor": "middle"}, i + 1),
		textLines(x, y + 24, wrapped(e.what, 25).slice(0, 4), "text.what", "middle")
	);
}

// The events as one sentence each, for those who do not see the picture.
const laneWords = f =>
	f.events.map((e, i) => `${i + 1}. ${when(e.t)} ${e.who || "ctp-run"}: ${e.what}`).join("\n");

let pictures = 0;
function lanePicture(f) {
	if (!f.events.length) return null;
	const id = "pic" + ++pictures,
		parties = laneParties(f),
		n = f.events.length;
	const room = (innerWidth - 110 - LANE.label - 20) / n;
	const column = Math.max(LANE.narrowest, Math.min(LANE.widest, room));
	const width = LANE.label + n * column + 20;
	const height = LANE.top + parties.length * LANE.height + 8;
	const place = i => LANE.label + (i + 0.5) * column;
	const scale = svg("text.gap", {x: 8, y: 12}, "in order, not to scale");
	const laneY = who => LANE.top + parties.findIndex(p => p.id === who) * LANE.height + 22;
	const picture = svg(
		"svg.lanes",
		{width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": `${id}-t ${id}-d`},
		svg("title", {id: id + "-t"}, `What happened to ${f.who}`),
		svg("desc", {id: id + "-d"}, laneWords(f)),
		patternDefs(id),
		scale
	);
	parties.forEach((p, i) =>
		picture.append(
			svg(i % 2 ? "rect.row" : "rect.row.odd", {
				x: 0,
				y: LANE.top + i * LANE.height - 4,
				width,
				height: LANE.height
			}),
			textLines(8, LANE.top + i * LANE.height + 14, [...wrapped(p.who, 21).slice(0, 3)], "text.who"),
			svg(
				"text.role",
				{x: 8, y: LANE.top + i * LANE.height + 14 + 13 * Math.min(3, wrapped(p.who, 21).length)},
				p.role
			),
			svg("line.thread", {x1: LANE.label, x2: width, y1: laneY(p.id), y2: laneY(p.id)})
		)
	);
	f.events.forEach((e, i) => {
		picture.append(
			svg("line.when", {x1: place(i), x2: place(i), y1: LANE.top - 8, y2: laneY(e.id)}),
			svg("text.axis", {x: place(i), y: 12, "text-anchor": "middle"}, moment(e.t))
		);
		if (i)
			picture.append(
				svg(
					"text.gap",
					{x: (place(i) + place(i - 1)) / 2, y: 25, "text-anchor": "middle"},
					"→ " + duration(e.t - f.events[i - 1].t) + " →"
				)
			);
	});
	picture.append(...waitBars(f, id, place, laneY(f.id)).flat().filter(Boolean));
	f.events.forEach((e, i) => picture.append(eventMark(f, e, i, place(i), laneY(e.id))));
	return el("div.scroll", {tabindex: 0, role: "group", "aria-label": "Swim-lanes"}, picture);
}
