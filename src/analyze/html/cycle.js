// SPDX-License-Identifier: MIT
// The picture of a deadlock: who waits for what, as a ring of boxes and arrows.

const RING = {high: 32, step: 48, widest: 620, text: 6.6};

// The steps of "co 1 -> fd 7 -> co 3 -> fd 5 -> back"; null: the finding is about no circle.
function cycleSteps(f) {
	const found = / -> back$/.test(f.message) && /(?:^|: )((?:(?!: ).)+) -> back$/.exec(f.message);
	return found ? found[1].split(" -> ") : null;
}

function cycleName(f, step) {
	const id = /^co (\d+)$/.exec(step);
	return id ? `coroutine ${runnerName(f.image, +id[1])}` : step;
}

// Where the line from one box's middle to another's leaves the first.
function boxEdge(from, to, gap) {
	const dx = to.x - from.x,
		dy = to.y - from.y,
		share = Math.min(
			dx ? (from.wide / 2 + gap) / Math.abs(dx) : Infinity,
			dy ? (RING.high / 2 + gap) / Math.abs(dy) : Infinity
		);
	return [from.x + dx * share, from.y + dy * share];
}

function cycleBox(b) {
	return svg(
		"g",
		{},
		svg("title", {}, b.name),
		svg(b.step.startsWith("fd ") ? "rect.node" : "rect.node.party", {
			x: b.x - b.wide / 2,
			y: b.y - RING.high / 2,
			width: b.wide,
			height: RING.high,
			rx: 6
		}),
		svg("text.who", {x: b.x, y: b.y + 4, "text-anchor": "middle"}, b.text)
	);
}

function cyclePicture(f) {
	const steps = cycleSteps(f);
	if (!steps) return null;
	const n = steps.length,
		width = Math.min(RING.widest, innerWidth - 80),
		most = Math.min(210, width / 2 - 24),
		height = RING.high * 2 + 24 + RING.step * Math.max(2, n / 2),
		id = "ring" + ++pictures;
	const boxes = steps.map((step, i) => {
		const name = cycleName(f, step),
			letters = Math.floor((most - 20) / RING.text),
			text = name.length > letters ? name.slice(0, letters - 1) + "…" : name,
			wide = Math.min(most, text.length * RING.text + 24),
			angle = (2 * Math.PI * i) / n - Math.PI / 2 - (n === 2 ? Math.PI / 2 : 0);
		return {
			step,
			name,
			text,
			wide,
			x: width / 2 + Math.cos(angle) * ((width - most) / 2 - 8),
			y: height / 2 + Math.sin(angle) * ((height - RING.high) / 2 - 8)
		};
	});
	const picture = svg(
		"svg.lanes.ring",
		{width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": id},
		svg("title", {id}, `A circle of waits: ${boxes.map(b => b.name).join(", which waits for ")}, and so on`),
		svg(
			"defs",
			{},
			svg(
				"marker",
				{id: id + "-head", viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 8, markerHeight: 8, orient: "auto"},
				svg("path.head", {d: "M0,0 L10,5 L0,10 z"})
			)
		)
	);
	boxes.forEach((b, i) => {
		const next = boxes[(i + 1) % n],
			bend = n === 2 ? (i ? 24 : -24) : 0; // two arrows between the same two boxes
		const [x0, y0] = boxEdge(b, next, 2),
			[x1, y1] = boxEdge(next, b, 4);
		picture.append(
			svg("path.arrow", {
				d: `M${x0},${y0} Q${(x0 + x1) / 2},${(y0 + y1) / 2 + bend} ${x1},${y1}`,
				"marker-end": `url(#${id}-head)`
			})
		);
	});
	picture.append(...boxes.map(cycleBox));
	return el("div.scroll", {}, picture);
}
