// SPDX-License-Identifier: MIT
// The findings: a line each, told in full when it is opened. Bodies are made only then, so that a thousand of them open at once.

const shapes = {
	proven: "M6,0 h4 l6,6 v4 l-6,6 h-4 l-6,-6 v-4 z",
	likely: "M8,0 L16,15 H0 z",
	suspect: "M8,0 L16,8 L8,16 L0,8 z",
	inconclusive: "M8,1 a7,7 0 1,0 0.01,0 z M8,4 a4,4 0 1,1 -0.01,0 z"
};

function badge(verdict) {
	return el(
		`span.badge.${verdict}`,
		{},
		svg(
			"svg",
			{viewBox: "0 0 16 16", width: 12, height: 12, "aria-hidden": "true"},
			svg("path", {d: shapes[verdict]})
		),
		verdict.toUpperCase()
	);
}

function section(title, ...content) {
	return el("section", {}, el("h4", {}, title), ...content);
}

function stacksOf(f) {
	const parts = [section(`${f.label || "at"} ${f.doing || ""}`, stackList(f.stack))];
	if (f.actor)
		parts.push(
			section(
				`${f.actor.did} ${f.actor.who}${f.actor.after ? ", " + f.actor.after : ""}${f.actor.call ? ` (${f.actor.call})` : ""}`,
				stackList(f.actor.stack)
			)
		);
	if (f.opener)
		parts.push(
			section(
				`opened by ${f.opener.who}${f.opener.call ? ", " + f.opener.call : ""}`,
				stackList(f.opener.stack)
			)
		);
	if (f.created) parts.push(section("the coroutine was created", stackList(f.created)));
	return el("div.stacks", {}, parts);
}

function evidenceList(f) {
	const item = e => {
		const [mark, word] = e.holds === null ? ["?", "open"] : e.holds ? ["✓", "holds"] : ["✗", "does not hold"];
		return el(
			`li.${e.holds === null ? "open" : e.holds ? "yes" : "no"}`,
			{},
			el("span.mark", {"aria-hidden": "true"}, mark),
			el("span.unseen", {}, word + ": "),
			el("b", {}, e.word),
			" ",
			el("span.muted", {}, e.id),
			e.text && e.text !== e.word ? el("span", {}, " " + e.text) : null
		);
	};
	return section("evidence", el("ul.evidence", {}, f.evidence.map(item)));
}

function affected(f) {
	const most = 40,
		shown = f.ids.slice(0, most).join(", ");
	return section(
		f.ids.length === 1 ? "coroutine" : "coroutines",
		el(
			"p",
			{},
			shown,
			f.ids.length > most ? ` and ${count(f.ids.length - most)} more` : "",
			" ",
			el(
				"button.link",
				{type: "button", onclick: () => coroutines.showFinding(report.findings.indexOf(f))},
				"in the table"
			),
			" · ",
			el("button.link", {type: "button", onclick: () => timeline.showFinding(f)}, "in the timeline")
		)
	);
}

function findingBody(f) {
	const rule = report.rules[f.rule];
	return el(
		"div.body",
		{},
		el("p.message", {}, f.message),
		cyclePicture(f),
		lanePicture(f),
		stacksOf(f),
		el(
			"div.two",
			{},
			evidenceList(f),
			el(
				"div",
				{},
				f.open.length
					? section(
							"open: by which it could still be resumed",
							el(
								"ul",
								{},
								f.open.map(x => el("li", {}, x))
							)
						)
					: null,
				section("refuted if", el("p", {}, f.refuted)),
				section("fix", el("p.fix", {}, f.fix)),
				affected(f)
			)
		),
		el(
			"p.muted",
			{},
			"fingerprint ",
			el("a", {href: "#finding-" + f.fingerprint}, el("code", {}, f.fingerprint)),
			 f.known ? " · in the baseline" : ""
		),
		rule
			? el("details", {}, el("summary", {}, `What ${f.rule} looks for`), el("pre.explain", {}, rule.explain))
			: null
	);
}

const findings = {
	make() {
		this.list = el("ol.findings");
		this.items = report.findings.map((f, i) => this.item(f, i));
		this.list.append(...this.items.map(x => x.element));
		const panel = el(
			"div",
			{},
			this.tools(),
			this.list,
			(this.none = el("p.muted", {hidden: true}, "Nothing matches."))
		);
		if (!this.items.length) panel.replaceChildren(this.clean());
		panel.append(facts());
		if (this.items.length) this.open(this.items[0], true);
		window.addEventListener("beforeprint", () =>
			this.shown()
				.slice(0, 50)
				.forEach(x => this.open(x, true))
		);
		return panel;
	},
	clean() {
		const t = report.trace;
		return el(
			"p.clean",
			{},
			el("b", {}, "No findings. "),
			t.total
				? t.healthy
					? `${some(t.healthy, "coroutine waits", "coroutines wait")} on live descriptors: healthy.`
					: `${some(t.total, "coroutine was", "coroutines were")} seen; none of them is lost.`
				: "No coroutine was seen; what was covered stands under “About”."
		);
	},
	item(f, index) {
		const id = "finding-" + index;
		const head = el(
			"button.head",
			{type: "button", "aria-expanded": "false", "aria-controls": id, onclick: () => this.open(item)},
			badge(f.verdict),
			el("span.rule", {}, `${f.rule} ${f.title}`),
			el("span.claim", {}, `${f.who}${f.where} ${f.claim}`),
			el("span.count", {}, f.known ? "known · " : "", f.ids.length > 1 ? some(f.ids.length, "coroutine") : "")
		);
		const body = el("div", {id, hidden: true});
		const item = {
			f,
			head,
			body,
			text: [
				f.rule,
				f.title,
				f.verdict,
				f.message,
				f.fingerprint,
				siteOf(f.stack),
				f.actor ? siteOf(f.actor.stack) : ""
			]
				.join(" ")
				.toLowerCase(),
			element: el(`li.finding.${f.verdict}`, {}, el("h3", {}, head), body)
		};
		return item;
	},
	open(item, to) {
		const open = to === undefined ? item.body.hidden : to;
		if (open && !item.body.firstChild) item.body.append(findingBody(item.f));
		item.body.hidden = !open;
		item.head.setAttribute("aria-expanded", String(open));
	},
	tools() {
		this.search = el("input", {
			type: "search",
			placeholder: "Search findings  /",
			"aria-label": "Search findings",
			oninput: soon(() => this.filter())
		});
		const n = Object.fromEntries(VERDICTS.map(v => [v, report.findings.filter(f => f.verdict === v).length]));
		this.boxes = VERDICTS.filter(v => n[v]).map(v =>
			el("input", {type: "checkbox", checked: true, value: v, onchange: () => this.filter()})
		);
		return el(
			"div.bar-tools",
			{},
			this.search,
			this.boxes.map(b => el("label", {}, b, badge(b.value), " " + count(n[b.value]))),
			el(
				"button",
				{
					type: "button",
					onclick: () =>
						this.shown()
							.slice(0, 200)
							.forEach(x => this.open(x, true))
				},
				"Open all"
			),
			el(
				"button",
				{type: "button", onclick: () => this.items.forEach(x => this.open(x, false))},
				"Close all"
			),
			(this.told = el("span.muted", {role: "status"}))
		);
	},
	filter() {
		const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
		const verdicts = this.boxes.filter(b => b.checked).map(b => b.value);
		for (const x of this.items)
			x.element.hidden = !(verdicts.includes(x.f.verdict) && words.every(w => x.text.includes(w)));
		const n = this.shown().length;
		this.none.hidden = n > 0;
		this.told.textContent = n < this.items.length ? `${count(n)} of ${count(this.items.length)}` : "";
	},
	shown() {
		return this.items.filter(x => !x.element.hidden);
	},
	step(by) {
		const shown = this.shown(),
			at = shown.findIndex(x => x.element.contains(document.activeElement));
		const to = shown[Math.max(0, Math.min(shown.length - 1, at < 0 ? 0 : at + by))];
		if (to) {
			to.head.focus();
			to.element.scrollIntoView({block: "nearest"});
		}
	},
	keys: {
		j() {
			findings.step(1);
		},
		k() {
			findings.step(-1);
		},
		"/"() {
			(findings.search || document.body).focus();
		}
	}
};

function facts() {
	return report.facts.length
		? section(
				"Facts: merely so, no findings",
				el(
					"ul",
					{},
					report.facts.map(f => el("li", {}, el("b", {}, f.rule), " ", f.message))
				)
			)
		: "";
}
