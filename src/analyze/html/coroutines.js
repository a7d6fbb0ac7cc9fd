// SPDX-License-Identifier: MIT
// The table of coroutines. Only the rows in sight are elements; order and groups are arrays of row numbers.

const ROW_HEIGHT = 28;
const text = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const byName = key => (a, b) => (key(a) === key(b) ? 0 : text(key(a), key(b)));
const TABLE = [
	{key: "id", title: "Id", width: "5rem", number: true, value: i => rows.id[i], show: i => String(rows.id[i])},
	{key: "name", title: "Coroutine", width: "minmax(8rem,1fr)", value: rowTitle, show: rowTitle},
	{key: "state", title: "State", width: "8rem", value: i => rows.state[i], show: i => stateMark(rowState(i))},
	{
		key: "age",
		title: "Since",
		width: "5.5rem",
		number: true,
		value: rowAge,
		show: i => (rows.state[i] > 4 ? "" : duration(rowAge(i))),
		down: true
	},
	{
		key: "waits",
		title: "Waits for",
		width: "minmax(9rem,1.1fr)",
		value: i => rowWaits(i)[0] || "",
		show: i => rowWaits(i).join(", ")
	},
	{
		key: "site",
		title: "Where",
		width: "minmax(10rem,1.4fr)",
		value: i => siteOf(rows.stack[i]),
		show: i => siteOf(rows.stack[i])
	},
	{
		key: "changes",
		title: "State changes",
		width: "7.5rem",
		number: true,
		value: i => rows.changes[i],
		show: i => count(rows.changes[i]),
		down: true
	},
	{
		key: "thread",
		title: "Thread",
		width: "5rem",
		number: true,
		value: i => rows.thread[i],
		show: i => rows.thread[i] || ""
	},
	{
		key: "finding",
		title: "Finding",
		width: "5.5rem",
		value: i => -rows.finding[i] || 1,
		show: i => (rows.finding[i] ? report.findings[rows.finding[i] - 1].rule : "")
	}
];
const GROUPS = {
	"": null,
	state: rowState,
	name: rowName,
	"where it stands": i => siteOf(rows.stack[i]) || "(not captured)",
	"what it waits for": i => (rows.waits[i] ? report.coroutines.waitNames[rows.waits[i] - 1] : "(nothing known)"),
	"where it was created": i => siteOf(rows.madeAt[i]) || "(not captured)",
	"who created it": creatorOf,
	thread: i => (rows.thread[i] ? "thread " + rows.thread[i] : "(never ran)"),
	finding: i =>
		rows.finding[i] ? `${report.findings[rows.finding[i] - 1].rule} (finding ${rows.finding[i]})` : "(none)"
};

function stateMark(state) {
	return el("span.state." + state, {title: STATE_HELP[state]}, state);
}

const coroutines = {
	order: "age",
	down: true,
	opened: new Set(),
	finding: -1,
	make() {
		this.search = el("input", {
			type: "search",
			placeholder: "Search coroutines  /",
			"aria-label": "Search coroutines by id, name, wait or function",
			oninput: soon(() => this.refresh())
		});
		this.state = el(
			"select",
			{"aria-label": "State", onchange: () => this.refresh()},
			el("option", {value: ""}, "any state"),
			STATES.map((s, i) => el("option", {value: i}, `${s} (${count(report.coroutines.counts[i])})`))
		);
		this.group = el(
			"select",
			{
				"aria-label": "Group by",
				onchange: () => {
					this.opened.clear();
					this.refresh();
				}
			},
			Object.keys(GROUPS).map(g => el("option", {value: g}, g ? "by " + g : "no groups"))
		);
		this.told = el("span.muted", {role: "status"});
		this.heads = TABLE.map(c =>
			el(
				"div",
				{role: "columnheader", "aria-sort": "none"},
				el(
					"button.sort",
					{type: "button", "data-key": c.key, onclick: () => this.sortBy(c)},
					c.title,
					el("span.arrow", {"aria-hidden": "true"})
				)
			)
		);
		this.space = el("div.space", {role: "rowgroup"});
		this.body = el(
			"div.rows",
			{
				tabindex: 0,
				role: "group",
				"aria-label": "Rows; arrow keys move, Enter opens",
				onscroll: soon(() => this.draw()),
				onkeydown: e => this.key(e)
			},
			this.space
		);
		this.table = el(
			"div.table",
			{role: "table", "aria-label": "Coroutines"},
			el("div.row.top", {role: "row"}, this.heads),
			this.body
		);
		this.detail = el("aside.detail", {hidden: true, "aria-label": "One coroutine"});
		this.chip = el("button.chip", {
			type: "button",
			hidden: true,
			onclick: () => {
				this.finding = -1;
				this.refresh();
			}
		});
		this.at = 0;
		TABLE[0].width = Math.max(5, String(d3.max(rows.id) || 0).length * 0.6 + 1.4) + "rem";
		this.table.style.setProperty("--columns", TABLE.map(c => c.width).join(" "));
		new ResizeObserver(soon(() => this.draw())).observe(this.body);
		return el(
			"div.fills",
			{},
			el(
				"div.bar-tools",
				{},
				this.search,
				this.state,
				el("label", {}, "Group ", this.group),
				this.chip,
				this.told
			),
			this.leftOut(),
			this.table,
			this.detail
		);
	},
	leftOut() {
		const left = report.coroutines.leftOut,
			gone = report.trace.total - rows.n - left;
		const words = [
			left ? `${count(left)} more are only counted: the table has the first ${count(rows.n)}.` : "",
			gone > 0
				? `${some(gone, "coroutine")} that ended ${gone === 1 ? "is" : "are"} no longer in the last tables: counted, not listed.`
				: ""
		].filter(Boolean);
		return words.length && rows.n
			? el("p.muted", {}, words.join(" "))
			: rows.n
				? null
				: el(
						"p.muted",
						{},
						report.trace.form === "lines"
							? "JSON lines hold no tables: coroutines are only counted."
							: "There are no last tables: coroutines are only counted."
					);
	},
	shown() {
		this.refresh();
	},
	matcher() {
		const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
		const state = this.state.value === "" ? -1 : +this.state.value;
		const has = list => words.map(w => list.map(x => x.toLowerCase().includes(w)));
		const names = has(report.coroutines.names),
			waits = has(report.coroutines.waitNames);
		const stacks = has(
			report.stacks.map((s, i) => s.map(f => report.frames[f][0] + " " + frameAt(report.frames[f])).join(" "))
		);
		return i =>
			(state < 0 || rows.state[i] === state) &&
			(this.finding < 0 || rows.finding[i] === this.finding + 1) &&
			words.every(
				(w, k) =>
					names[k][rows.name[i]] ||
					stacks[k][rows.stack[i]] ||
					(rows.waits[i] && waits[k][rows.waits[i] - 1]) ||
					String(rows.id[i]) === w ||
					(rows.given.has(i) && rows.given.get(i).toLowerCase().includes(w)) ||
					(rows.waits[i] && `${rows.fd[i]}#${rows.gen[i]}`.startsWith(w))
			);
	},
	refresh() {
		if (!this.body) return;
		const c = TABLE.find(x => x.key === this.order),
			match = this.matcher(),
			all = [];
		for (let i = 0; i < rows.n; i++) if (match(i)) all.push(i);
		if (c.number || c.key === "state" || c.key === "finding") {
			const keys = new Float64Array(rows.n);
			all.forEach(i => {
				keys[i] = c.value(i);
			});
			all.sort((a, b) => keys[a] - keys[b] || a - b);
		} else {
			const keys = new Map(all.map(i => [i, c.value(i)]));
			all.sort(byName(i => keys.get(i)));
		}
		if (this.down) all.reverse();
		this.matched = all.length;
		this.items = this.grouped(all);
		this.told.textContent =
			all.length === rows.n ? some(rows.n, "coroutine") : `${count(all.length)} of ${count(rows.n)}`;
		this.chip.hidden = this.finding < 0;
		this.chip.textContent = this.finding < 0 ? "" : `only finding ${this.finding + 1} ✕`;
		this.heads.forEach((h, i) => {
			const on = TABLE[i].key === this.order;
			h.setAttribute("aria-sort", on ? (this.down ? "descending" : "ascending") : "none");
			h.querySelector(".arrow").textContent = on ? (this.down ? " ▼" : " ▲") : "";
		});
		this.at = Math.min(this.at, Math.max(0, this.items.length - 1));
		this.draw();
	},
	// A flat list of row numbers, and of groups, which are followed by their rows when open.
	grouped(all) {
		const key = GROUPS[this.group.value];
		if (!key) return all;
		const groups = new Map();
		for (const i of all) {
			const k = key(i),
				g = groups.get(k) || groups.set(k, {name: k, rows: [], oldest: 0, changes: 0}).get(k);
			g.rows.push(i);
			g.oldest = Math.max(g.oldest, rowAge(i));
			g.changes += rows.changes[i];
		}
		const sorted = [...groups.values()].sort((a, b) => b.rows.length - a.rows.length || text(a.name, b.name));
		return sorted.flatMap(g => (this.opened.has(g.name) ? [g, ...g.rows] : [g]));
	},
	sortBy(c) {
		this.down = this.order === c.key ? !this.down : !!c.down;
		this.order = c.key;
		this.refresh();
		say(`sorted by ${c.title}, ${this.down ? "descending" : "ascending"}`);
	},
	draw() {
		if (!this.items || !this.body.clientHeight) return;
		const first = Math.max(0, Math.floor(this.body.scrollTop / ROW_HEIGHT) - 4);
		const last = Math.min(this.items.length, first + Math.ceil(this.body.clientHeight / ROW_HEIGHT) + 8);
		const drawn = [];
		for (let k = first; k < last; k++) drawn.push(this.line(k));
		this.space.style.height = this.items.length * ROW_HEIGHT + "px";
		this.space.replaceChildren(...drawn);
		this.table.setAttribute("aria-rowcount", this.items.length + 1);
	},
	line(k) {
		const x = this.items[k],
			group = typeof x === "object";
		const cells = group
			? [
					el(
						"div.group",
						{role: "cell"},
						(this.opened.has(x.name) ? "▾ " : "▸ ") + x.name,
						el("b", {}, some(x.rows.length, "coroutine")),
						x.oldest ? el("span.muted", {}, "longest " + duration(x.oldest)) : "",
						el("span.muted", {}, some(x.changes, "change"))
					)
				]
			: TABLE.map(c => el(c.number ? "div.n" : "div", {role: "cell"}, c.show(x)));
		const line = el(
			`div.row${group ? ".is-group" : ""}${k === this.at ? ".cursor" : ""}`,
			{
				role: "row",
				"aria-rowindex": k + 2,
				onclick: () => {
					this.at = k;
					this.enter();
				}
			},
			cells
		);
		line.style.top = k * ROW_HEIGHT + "px";
		return line;
	},
	enter() {
		const x = this.items[this.at];
		if (x === undefined) return;
		if (typeof x === "object") {
			if (!this.opened.delete(x.name)) this.opened.add(x.name);
			this.refresh();
		} else {
			this.tell(x);
			this.draw();
		}
	},
	key(e) {
		const page = Math.floor(this.body.clientHeight / ROW_HEIGHT) - 1;
		const to = {
			ArrowDown: this.at + 1,
			ArrowUp: this.at - 1,
			PageDown: this.at + page,
			PageUp: this.at - page,
			Home: 0,
			End: this.items.length - 1
		}[e.key];
		if (to !== undefined) {
			this.at = Math.max(0, Math.min(this.items.length - 1, to));
			this.body.scrollTop = Math.max(
				Math.min(this.body.scrollTop, this.at * ROW_HEIGHT),
				(this.at + 1) * ROW_HEIGHT - this.body.clientHeight
			);
			this.draw();
			const x = this.items[this.at];
			say(
				typeof x === "object"
					? `${x.name}, ${some(x.rows.length, "coroutine")}`
					: x === undefined
						? ""
						: `coroutine ${rows.id[x]} ${rowTitle(x)}, ${rowState(x)}`
			);
		} else if (e.key === "Enter" || e.key === " ") {
			this.enter();
		} else {
			return;
		}
		e.preventDefault();
	},
	tell(i) {
		const finding = report.findings[rows.finding[i] - 1];
		const pair = (name, value) => (value ? [el("dt", {}, name), el("dd", {}, value)] : []);
		this.detail.hidden = false;
		this.detail.replaceChildren(
			el(
				"button.close",
				{
					type: "button",
					"aria-label": "Close",
					onclick: () => {
						this.detail.hidden = true;
						this.body.focus();
					}
				},
				"✕"
			),
			el(
				"h3",
				{},
				`coroutine ${rows.id[i]} ${rowTitle(i)}`,
				processOf(rows.image[i]) ? " in " + processOf(rows.image[i]) : ""
			),
			el(
				"dl",
				{},
				pair("state", [
					stateMark(rowState(i)),
					` ${rows.state[i] <= 4 ? "for " + duration(rowAge(i)) + ": " : ""}${STATE_HELP[rowState(i)]}`
				]),
				pair("waits for", rowWaits(i).join(", ")),
				pair("since", when(rows.since[i] * 1000)),
				pair("created", [`${when(rows.created[i] * 1000)}, by `, this.creator(i)]),
				pair("changes", count(rows.changes[i])),
				pair("thread", rows.thread[i] && String(rows.thread[i])),
				pair("events", this.events(i)),
				pair("stack", rows.bytes[i] && `${count(rows.bytes[i])} bytes`),
				pair(
					"finding",
					finding &&
						el(
							"button.link",
							{type: "button", onclick: () => page.showFinding(rows.finding[i] - 1)},
							`${finding.rule} ${finding.title} [${finding.verdict.toUpperCase()}]`
						)
				)
			),
			el(
				"div.stacks",
				{},
				rows.stack[i]
					? section(
							rows.state[i] === 4 ? "where it left from last" : "stands at",
							stackList(rows.stack[i])
						)
					: null,
				rows.madeAt[i] ? section("created at", stackList(rows.madeAt[i])) : null
			)
		);
	},
	// Of the program's own that it signalled: the first ones.
	events(i) {
		const all = eventsOf(rows.image[i], rows.id[i]),
			most = 20;
		const list = all.slice(0, most).map(e => el("li", {}, `${when(e[0])} ${e[4]}`));
		if (all.length > most) list.push(el("li", {}, `and ${count(all.length - most)} more`));
		return list.length ? el("ul.events", {}, list) : null;
	},
	creator(i) {
		const row = creatorRow(i);
		return row < 0
			? creatorOf(i)
			: el("button.link.creator", {type: "button", onclick: () => this.tell(row)}, creatorOf(i));
	},
	showFinding(index) {
		page.show("coroutines");
		this.finding = index;
		this.search.value = this.state.value = "";
		this.refresh();
	},
	showRow(i) {
		page.show("coroutines");
		this.tell(i);
	},
	keys: {
		"/"() {
			coroutines.search.focus();
		}
	}
};
