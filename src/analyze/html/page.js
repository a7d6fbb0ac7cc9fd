// SPDX-License-Identifier: MIT
// The page: what stands above, its parts in tabs, keys, light and dark.

const about = {
	make() {
		const t = report.trace,
			c = t.counts,
			row = (name, value) => [el("dt", {}, name), el("dd", {}, value)];
		return el(
			"div",
			{},
			el(
				"dl.about",
				{},
				row("trace", t.path),
				t.command ? row("command", t.command) : null,
				row("span", duration(t.durationNs)),
				row("threads", count(t.threads)),
				row("switches", count(t.switches)),
				row("events", count(t.events)),
				row("lost records", count(t.lost)),
				row(
					"coroutines",
					`${count(t.total)}: ${count(c.created)} created and never run, ${count(c.suspended)} suspended, ${count(c.running)} running, ${count(c.finished)} finished, ${count(c.destroyed)} destroyed`
				),
				t.stackless ? row("C++20 coroutines", count(t.stackless)) : null,
				row("healthy waiters", count(t.healthy)),
				row("parked", count(t.parked)),
				row("suspended", t.accounting),
				t.reason ? row("last look", `${when(t.snapshotNs)}: ${t.reason}`) : null,
				t.compared || t.suppressed
					? row(
							"compared",
							`${count(report.findings.length - t.known)} new, ${count(t.known)} known, ${count(t.suppressed)} suppressed`
						)
					: null,
				row("written by", report.tool)
			),
			section(
				"Covered",
				t.coverage.length
					? el(
							"ul",
							{},
							t.coverage.map(x => el("li", {}, x))
						)
					: el("p", {}, "Nothing particular to say.")
			),
			t.mismatches.length
				? section(
						"Symbols",
						el(
							"ul",
							{},
							t.mismatches.map(x =>
								el(
									"li",
									{},
									`${x} is another build than the one that ran: its symbols were not used`
								)
							)
						)
					)
				: null,
			t.unused.length
				? section(
						"Suppressions",
						el(
							"ul",
							{},
							t.unused.map(x => el("li", {}, `“${x}” matches nothing any more`))
						)
					)
				: null,
			report.crashes.length
				? section(
						"Crashes",
						el(
							"ul",
							{},
							report.crashes.map(x =>
								el("li", {}, `process ${x.pid} died by ${x.signal_name || x.signal}`)
							)
						)
					)
				: null,
			facts()
		);
	},
	keys: {}
};

const PARTS = {
	findings: {title: "Findings", part: findings, badge: () => count(report.findings.length)},
	coroutines: {title: "Coroutines", part: coroutines, badge: () => count(report.trace.total)},
	timeline: {title: "Timeline", part: timeline},
	waits: {title: "Where time goes", part: waits},
	about: {title: "About", part: about}
};
const KEYS = [
	["1 … 5", "the parts of the report"],
	["/", "search"],
	["j  k", "next, previous finding"],
	["Enter", "open or close what has the focus"],
	["↑ ↓ PgUp PgDn Home End", "rows of the table; lanes of the timeline"],
	["← →", "timeline: earlier, later"],
	["+  −  0", "timeline: closer, farther, all of it"],
	["Esc", "close, leave the search"],
	["t", "light, dark, as the system has it"],
	["?", "these keys"]
];

const page = {
	current: "",
	make() {
		for (const [name, p] of Object.entries(PARTS)) {
			p.tab = el(
				"button",
				{
					type: "button",
					role: "tab",
					id: "tab-" + name,
					"aria-controls": "part-" + name,
					tabindex: -1,
					onclick: () => this.show(name)
				},
				p.title,
				p.badge ? el("span.n", {}, p.badge()) : null
			);
			p.panel = el("section.part", {
				id: "part-" + name,
				role: "tabpanel",
				"aria-labelledby": "tab-" + name,
				hidden: true
			});
			byId("tabs").append(p.tab);
			byId("main").append(p.panel);
		}
		byId("tabs").addEventListener("keydown", e => this.tabKey(e));
		byId("command").textContent = report.trace.command || report.trace.path;
		document.title = `ctp: ${report.trace.command || report.trace.path}`;
		byId("summary").append(...this.summary());
		byId("help-open").addEventListener("click", () => this.help());
		byId("theme").addEventListener("click", () => this.turn());
		document.addEventListener("keydown", e => this.key(e));
		window.addEventListener("hashchange", () => this.follow(location.hash.slice(1)));
		this.paint(this.theme());
		this.follow(location.hash.slice(1));
	},
	// #timeline; #finding-9f0c2a...: by its fingerprint, which is the same in the next run; #coroutine-41.
	follow(where) {
		const [, kind, name] = where.match(/^(finding|coroutine)-(\w+)$/) || [];
		const at =
			kind === "finding"
				? report.findings.findIndex(f => f.fingerprint === name)
				: kind
					? Array.from(rows.id).indexOf(Number(name))
					: -1;
		this.show(PARTS[where] ? where : kind === "coroutine" && at >= 0 ? "coroutines" : "findings");
		if (at >= 0) kind === "finding" ? this.showFinding(at) : coroutines.showRow(at);
		if (at >= 0) this.address(where);
	},
	address(where) {
		try {
			history.replaceState(null, "", "#" + where);
		} catch (e) {
			/* not where the page's address may not change */
		}
	},
	summary() {
		const t = report.trace,
			item = (n, word, name) => el("div" + (name ? "." + name : ""), {}, el("b", {}, n), " ", word);
		const worst = VERDICTS.filter(v => report.findings.some(f => f.verdict === v));
		return [
			...worst.map(v =>
				el(
					"div",
					{},
					badge(v),
					" ",
					el("b", {}, count(report.findings.filter(f => f.verdict === v).length))
				)
			),
			worst.length ? null : item("0", "findings", "good"),
			t.stackless && !t.total ? null : item(count(t.total), "coroutines"),
			t.stackless ? item(count(t.stackless), "C++20 coroutines") : null,
			item(count(t.switches), "switches"),
			item(count(t.threads), t.threads === 1 ? "thread" : "threads"),
			item(duration(t.durationNs), ""),
			item(count(t.healthy), "healthy waiters"),
			item(count(t.lost), "records lost", t.lost ? "bad" : "")
		].filter(Boolean);
	},
	show(name) {
		if (!PARTS[name] || name === this.current) return;
		for (const [key, p] of Object.entries(PARTS)) {
			p.panel.hidden = key !== name;
			p.tab.setAttribute("aria-selected", String(key === name));
			p.tab.tabIndex = key === name ? 0 : -1;
		}
		this.current = name;
		const {part, panel} = PARTS[name];
		if (!panel.firstChild) panel.append(part.make());
		if (part.shown) part.shown();
		this.address(name);
	},
	showFinding(index) {
		this.show("findings");
		const item = findings.items[index];
		item.element.hidden = false;
		findings.open(item, true);
		item.head.focus();
		item.element.scrollIntoView();
	},
	tabKey(e) {
		const names = Object.keys(PARTS),
			at = names.indexOf(this.current);
		const to = {ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1}[e.key];
		if (to === undefined) return;
		this.show(names[(to + names.length) % names.length]);
		PARTS[this.current].tab.focus();
		e.preventDefault();
		e.stopPropagation();
	},
	key(e) {
		const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) && e.target.type !== "checkbox";
		if (e.key === "Escape" && typing) e.target.blur();
		if (typing || e.ctrlKey || e.metaKey || e.altKey || byId("help").open) return;
		const names = Object.keys(PARTS);
		const keys = Object.assign({"?": () => this.help(), t: () => this.turn()}, PARTS[this.current].part.keys);
		const run = keys[e.key] || (names[+e.key - 1] && (() => this.show(names[+e.key - 1])));
		if (!run) return;
		run(e);
		e.preventDefault();
	},
	help() {
		const dialog = byId("help");
		dialog.replaceChildren(
			el("h2", {id: "help-title"}, "Keys"),
			el(
				"dl",
				{},
				KEYS.map(([k, what]) => [
					el(
						"dt",
						{},
						k
							.split(" ")
							.filter(Boolean)
							.map(x => [el("kbd", {}, x), " "])
					),
					el("dd", {}, what)
				])
			),
			el("button", {type: "button", onclick: () => dialog.close()}, "Close")
		);
		dialog.showModal();
	},
	theme() {
		try {
			return localStorage.getItem("ctp-theme") || "auto";
		} catch (e) {
			return "auto";
		}
	},
	turn() {
		const next = {auto: "light", light: "dark", dark: "auto"}[document.documentElement.dataset.theme || "auto"];
		try {
			localStorage.setItem("ctp-theme", next);
		} catch (e) {
			/* then it is forgotten */
		}
		this.paint(next);
	},
	paint(theme) {
		document.documentElement.dataset.theme = theme;
		byId("theme").textContent = {auto: "◐ auto", light: "☀ light", dark: "☾ dark"}[theme];
		if (timeline.colors) timeline.colors();
	}
};

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => page.paint(page.theme()));
page.make();
