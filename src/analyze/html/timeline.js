// SPDX-License-Identifier: MIT
// The timeline: threads, groups and coroutines as lanes on a canvas, of which only what is in sight is drawn.

const LABELS = 190,
	AXIS = 26,
	FLAG = 14; // the height of a finding's mark

const timeline = {
	cursor: null,
	selected: 0,
	make() {
		const t = report.timeline;
		this.lanes = [];
		if (!t) return el("p.muted", {}, noHistory());
		this.span = t.spanNs;
		const threads = t.threads.map(x => new ThreadLane(x)),
			own = t.lanes.map(x => new CoroutineLane(x));
		if (t.everySlice) runsOf(own, threads);
		this.lanes = [...threads, ...t.groups.map(x => new GroupLane(x, t.spanNs)), ...own];
		placeEvents(this.lanes, t.events || []);
		this.place();
		this.canvas = el("canvas", {"aria-hidden": "true"});
		this.axis = svg("svg.axis", {height: AXIS, "aria-hidden": "true"});
		this.tip = el("div.tip", {hidden: true});
		this.space = el("div");
		this.view = el(
			"div.lanes-view",
			{
				tabindex: 0,
				role: "application",
				"aria-label": "Timeline: arrow keys move, plus and minus zoom, up and down choose a lane",
				onscroll: soon(() => this.draw()),
				onfocus: () => this.tell(false)
			},
			this.canvas,
			this.space
		);
		this.space.style.height = this.height + "px";
		this.told = el("span.muted", {role: "status"});
		const box = el(
			"div.fills",
			{},
			this.tools(),
			el("p.muted", {}, this.words()),
			el("div.timeline", {}, this.axis, this.view, this.tip)
		);
		this.behave();
		this.colors();
		return box;
	},
	place() {
		let top = 0;
		for (const lane of this.lanes) {
			lane.top = top;
			top += lane.height + (lane.kind === "coroutine" ? 2 : 6);
		}
		this.height = top;
	},
	tools() {
		const button = (text, name, run) =>
			el("button", {type: "button", title: name, "aria-label": name, onclick: run}, text);
		this.search = el("input", {
			type: "search",
			placeholder: "Find a lane  /",
			"aria-label": "Find a lane by its name; Enter goes to the next one",
			oninput: () => this.find(0),
			onkeydown: e => e.key === "Enter" && this.find(1)
		});
		const key = (name, text) => el("span.key", {}, el(`span.swatch.${name}`), text);
		return el(
			"div.bar-tools",
			{},
			button("−", "Zoom out (−)", () => this.zoomBy(0.5)),
			button("+", "Zoom in (+)", () => this.zoomBy(2)),
			button("Fit", "All of it (0)", () => this.fit()),
			this.search,
			key("run", "runs"),
			key("native", "a thread's own stack"),
			key("idle", "asleep or idle"),
			key("io", "waits"),
			key("ready", "ready, not yet run"),
			key("blocked", "waits, and is in a finding"),
			this.told
		);
	},
	// What is told one by one, what in bins, and what is not there.
	words() {
		const t = report.timeline,
			all = report.trace.total,
			out = [];
		out.push(
			t.everySlice
				? `Every one of ${some(t.switches, "switch", "switches")} is here; from afar they are shown as shares of time.`
				: `${some(t.switches, "switch", "switches")}, told as shares of time in bins of ${t.threads.length ? duration(t.threads[0].levels[0].width) : ""} and more; who had most of a bin is named where that is certain.`
		);
		if (all > t.lanes.length)
			out.push(
				`${count(t.lanes.length)} of ${count(all)} coroutines have a lane of their own (those of findings, and the busiest that the last tables have); all are in their thread's lane and, by the function they began in, in a group.`
			);
		if (t.events)
			out.push(
				`A mark on a lane is an event of the program's own: ${count(t.events.length)} of them` +
					(t.eventsLeftOut ? `, the first of ${count(t.events.length + t.eventsLeftOut)}.` : ".")
			);
		if (t.gaps) out.push(`Around ${some(t.gaps, "gap")} of lost records, who ran is a guess.`);
		if (t.beginsNs !== null)
			out.push(`The history begins at ${when(t.beginsNs)}: what was before is no longer there.`);
		return out.join(" ") + " Ctrl+wheel zooms, dragging moves.";
	},
	// The shortest time that fills the screen: where there are only bins, twenty of them.
	narrowest() {
		const t = report.timeline,
			bin = t.threads.length ? t.threads[0].levels[0].width : 0;
		return t.everySlice ? 2000 : Math.max(2000, 20 * bin);
	},
	behave() {
		this.zoom = d3
			.zoom()
			.scaleExtent([1, Math.max(1, this.span / this.narrowest())])
			.filter(e => {
				const event = e && e.type ? e : d3.event;
				return event.type !== "wheel" ? !event.button : event.ctrlKey || event.metaKey;
			})
			.on("zoom", e => {
				this.transform = (e && e.transform ? e : d3.event).transform;
				this.draw();
			});
		this.transform = d3.zoomIdentity;
		d3.select(this.canvas).call(this.zoom);
		this.draw = soon(() => this.paint());
		new ResizeObserver(() => this.resize()).observe(this.view);
		this.canvas.addEventListener("mousemove", e => this.hover(e));
		this.canvas.addEventListener("mouseleave", () => {
			this.cursor = null;
			this.tip.hidden = true;
			this.draw();
		});
		this.canvas.addEventListener("click", e => {
			const flag = this.flagAt(e);
			if (flag) return page.showFinding(flag.finding);
			this.selected = Math.max(0, this.lanes.indexOf(this.laneAt(e.offsetY)));
			this.draw();
		});
		this.view.addEventListener("keydown", e => this.key(e));
	},
	resize() {
		const ratio = devicePixelRatio || 1,
			width = this.view.clientWidth,
			height = this.view.clientHeight;
		if (!width || !height) return;
		this.canvas.width = width * ratio;
		this.canvas.height = height * ratio;
		this.canvas.style.width = width + "px";
		this.canvas.style.height = height + "px";
		this.canvas.style.marginBottom = -height + "px"; // it stays in sight while the lanes' space scrolls
		this.size = {width, height, ratio, labels: width < 600 ? 96 : LABELS};
		const extent = [
			[this.size.labels, 0],
			[width, height]
		];
		this.zoom.extent(extent).translateExtent(extent);
		this.axis.setAttribute("width", width);
		this.draw();
	},
	colors() {
		if (!this.canvas) return;
		const style = getComputedStyle(document.documentElement),
			g = this.canvas.getContext("2d");
		const color = name => style.getPropertyValue("--" + name).trim();
		this.ink = Object.fromEntries(
			[
				"bg",
				"raised",
				"fg",
				"muted",
				"line",
				"accent",
				"run",
				"native",
				"idle",
				"io",
				"blocked",
				"ready",
				"hatch"
			].map(n => [n, color(n)])
		);
		const pattern = (name, lines) => {
			const tile = document.createElement("canvas"),
				p = tile.getContext("2d");
			tile.width = tile.height = 8;
			p.fillStyle = this.ink[name];
			p.fillRect(0, 0, 8, 8);
			p.strokeStyle = this.ink.hatch;
			p.lineWidth = 1.5;
			p.beginPath();
			for (const [x0, y0, x1, y1] of lines) {
				p.moveTo(x0, y0);
				p.lineTo(x1, y1);
			}
			p.stroke();
			return g.createPattern(tile, "repeat");
		};
		this.ink.ioHatch = pattern("io", [
			[-2, 10, 10, -2],
			[-2, 2, 2, -2],
			[6, 10, 10, 6]
		]);
		this.ink.blockedHatch = pattern("blocked", [
			[0, 0, 8, 8],
			[8, 0, 0, 8]
		]);
		this.ink.readyHatch = pattern("ready", [
			[0, 2, 8, 2],
			[0, 6, 8, 6]
		]);
		this.draw();
	},
	scale() {
		return this.transform.rescaleX(
			d3.scaleLinear().domain([0, this.span]).range([this.size.labels, this.size.width])
		);
	},
	paint() {
		if (!this.size || !this.view.clientWidth) return;
		const g = this.canvas.getContext("2d"),
			{width, height, ratio, labels} = this.size,
			x = this.scale(),
			top = this.view.scrollTop;
		const [t0, t1] = x.domain(),
			view = {x, t0, t1, perPixel: (t1 - t0) / (width - labels), left: labels, right: width};
		g.setTransform(ratio, 0, 0, ratio, 0, 0);
		g.fillStyle = this.ink.bg;
		g.fillRect(0, 0, width, height);
		this.lanes.forEach((lane, i) => {
			const y = lane.top - top;
			if (y + lane.height < 0 || y > height) return;
			g.save();
			g.beginPath();
			g.rect(labels, y, width - labels, lane.height);
			g.clip();
			laneDrawing[lane.kind](g, this.ink, lane, y, view);
			drawEvents(g, this.ink, lane, y, view);
			g.restore();
			this.label(g, lane, y, i === this.selected);
		});
		this.marks(g, view, height);
		this.drawAxis(x);
		this.note(view);
	},
	label(g, lane, y, selected) {
		const {labels, width} = this.size;
		g.strokeStyle = selected ? this.ink.accent : this.ink.line;
		g.lineWidth = selected ? 2 : 1;
		g.strokeRect(selected ? 1 : 0.5, y + 0.5, width - 2, lane.height - 1);
		g.fillStyle = this.ink.fg;
		g.font = "600 12px system-ui, sans-serif";
		g.fillText(lane.name, 8, y + (lane.height < 30 ? 17 : 16), labels - 14);
		if (lane.height > 30) {
			g.fillStyle = this.ink.muted;
			g.font = "11px system-ui, sans-serif";
			g.fillText(lane.more, 8, y + 31, labels - 14);
		}
	},
	// Findings, where somebody did what they are about.
	marks(g, {x, left, right}, height) {
		this.flags = [];
		report.findings.slice(0, 50).forEach((f, i) => {
			const at = f.actor && f.actor.t !== undefined ? x(f.actor.t) : -1;
			if (at < left || at > right) return;
			g.strokeStyle = this.ink.blocked;
			g.setLineDash([4, 3]);
			g.lineWidth = 1;
			g.beginPath();
			g.moveTo(at, 0);
			g.lineTo(at, height);
			g.stroke();
			g.setLineDash([]);
			g.font = "700 11px system-ui, sans-serif";
			g.fillStyle = this.ink.blocked;
			const wide = g.measureText(`◆${i + 1}`).width + 6;
			g.fillRect(at, 0, wide, FLAG);
			this.flags.push({from: at, to: at + wide, finding: i});
			g.fillStyle = this.ink.bg;
			g.fillText(`◆${i + 1}`, at + 3, 11);
		});
		this.canvas.dataset.marks = JSON.stringify(this.flags);
		if (this.cursor) {
			g.strokeStyle = this.ink.muted;
			g.beginPath();
			g.moveTo(this.cursor.x + 0.5, 0);
			g.lineTo(this.cursor.x + 0.5, height);
			g.stroke();
		}
	},
	drawAxis(x) {
		const [t0, t1] = x.domain(),
			digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10((t1 - t0) / 1e10))));
		d3.select(this.axis)
			.selectAll("g")
			.data([0])
			.join("g")
			.attr("transform", `translate(0,${AXIS - 1})`)
			.call(
				d3
					.axisTop(x)
					.ticks(Math.max(2, this.size.width / 130))
					.tickFormat(t => (t / 1e9).toFixed(digits) + " s")
			);
	},
	note({t0, t1, perPixel}) {
		const lane = this.lanes.find(l => l.kind === "thread");
		const exact = lane && lane.slices(t0, t1, ((t1 - t0) / perPixel) * 2);
		this.told.textContent =
			`${when(t0)} to ${when(t1)} (${duration(t1 - t0)}): ` +
			(exact ? "every slice" : lane ? `bins of ${duration(levelFor(lane.levels, perPixel).width)}` : "");
	},
	// The finding's mark under the pointer; of several, the one drawn last.
	flagAt(e) {
		return (this.flags || []).findLast(
			f => e.offsetY <= FLAG && e.offsetX >= f.from && e.offsetX <= f.to
		);
	},
	laneAt(y) {
		const at = y + this.view.scrollTop;
		return this.lanes.find(l => at >= l.top && at < l.top + l.height);
	},
	hover(e) {
		const lane = this.laneAt(e.offsetY),
			flag = this.flagAt(e),
			x = this.scale();
		this.cursor = {x: e.offsetX};
		this.canvas.style.cursor = flag ? "pointer" : "";
		this.draw();
		this.tip.hidden = !lane || e.offsetX < this.size.labels;
		if (this.tip.hidden) return;
		this.tip.textContent = flag
			? `${report.findings[flag.finding].rule} ${report.findings[flag.finding].message}`
			: laneWordsAt(lane, x.invert(e.offsetX), x.invert(1) - x.invert(0));
		const left = Math.min(e.offsetX + 14, this.size.width - 320);
		this.tip.style.left = Math.max(0, left) + "px";
		this.tip.style.top = e.offsetY + AXIS + 16 + "px";
	},
	zoomBy(by) {
		d3.select(this.canvas).call(this.zoom.scaleBy, by);
	},
	fit() {
		d3.select(this.canvas).call(this.zoom.transform, d3.zoomIdentity);
	},
	moveBy(share) {
		d3.select(this.canvas).call(
			this.zoom.translateBy,
			(-share * (this.size.width - this.size.labels)) / this.transform.k,
			0
		);
	},
	// The next lane, from the chosen one on, that has all the words in its name.
	find(after) {
		const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean),
			n = this.lanes.length;
		for (let i = 0; words.length && i < n; i++) {
			const at = (this.selected + after + i) % n,
				name = this.lanes[at].name.toLowerCase();
			if (words.every(w => name.includes(w))) return this.choose(at);
		}
		if (words.length) say("No lane has that in its name.");
	},
	choose(index) {
		this.selected = Math.max(0, Math.min(this.lanes.length - 1, index));
		const lane = this.lanes[this.selected];
		if (lane)
			this.view.scrollTop = Math.max(
				Math.min(this.view.scrollTop, lane.top),
				lane.top + lane.height - this.view.clientHeight
			);
		this.draw();
		this.tell(true);
	},
	tell() {
		const lane = this.lanes[this.selected];
		if (!lane || !this.size) return;
		const [t0, t1] = this.scale().domain();
		say(`${lane.name}, ${lane.more}. In the middle: ${laneWordsAt(lane, (t0 + t1) / 2, (t1 - t0) / 1000)}`);
	},
	key(e) {
		const lane = this.lanes[this.selected];
		if (e.key === "Enter" && lane && lane.row >= 0) coroutines.showRow(lane.row);
	},
	showFinding(f) {
		page.show("timeline");
		if (!this.frame(f)) return;
		this.choose(
			this.lanes.findIndex(l => l.kind === "coroutine" && l.from.id === f.id && l.from.image === f.image)
		);
		this.view.focus();
	},
	// Brings the time of a finding into sight. False: it has none.
	frame(f) {
		const times = [f.events.find(e => e.id === f.id), f.actor]
			.filter(x => x && x.t !== undefined)
			.map(x => x.t);
		if (!this.canvas || !times.length) return false;
		this.resize();
		const from = Math.min(...times),
			wide = Math.max((Math.max(...times) - from) * 2, 1e5),
			t0 = Math.max(0, from - wide / 4);
		const plain = d3.scaleLinear().domain([0, this.span]).range([this.size.labels, this.size.width]);
		const k = Math.min(this.zoom.scaleExtent()[1], this.span / wide);
		d3.select(this.canvas).call(
			this.zoom.transform,
			d3.zoomIdentity.translate(this.size.labels - plain(t0) * k, 0).scale(k)
		);
		return true;
	},
	// It opens where the first finding happened: from afar, a hang is one long wait.
	shown() {
		if (!this.view) return;
		this.resize();
		this.opened = this.opened || !this.size || report.findings.some(f => this.frame(f)) || true;
	},
	keys: {
		"/"() {
			if (timeline.search) timeline.search.focus();
		},
		"+"() {
			timeline.zoomBy(2);
		},
		"="() {
			timeline.zoomBy(2);
		},
		"-"() {
			timeline.zoomBy(0.5);
		},
		0() {
			timeline.fit();
		},
		ArrowLeft() {
			timeline.moveBy(-0.2);
			timeline.tell();
		},
		ArrowRight() {
			timeline.moveBy(0.2);
			timeline.tell();
		},
		ArrowUp() {
			timeline.choose(timeline.selected - 1);
		},
		ArrowDown() {
			timeline.choose(timeline.selected + 1);
		},
		Home() {
			timeline.choose(0);
		},
		End() {
			timeline.choose(timeline.lanes.length - 1);
		}
	}
};
