// SPDX-License-Identifier: MIT
// Where time goes: by what is weighed a flame graph, a histogram of single times, and the sites with theirs.

const SUSPENDED = 0,
	SWITCHES = 3,
	SITES_SHOWN = 50;
const WEIGHED = ["wait", "slice", "resume", ""];
const WEIGHT_HELP = [
	"How long coroutines were suspended, by the stack at which they were suspended.",
	"How long slices were, by the stack at their end. Slices of threads' own stacks are without the sleep of their loops.",
	"How long it took from the event for a coroutine until it was resumed: the delay by a loop that is busy elsewhere.",
	"Switches, by the stack of the coroutine that was suspended."
];

const waits = {
	weight: SUSPENDED,
	sitesShown: SITES_SHOWN,
	make() {
		this.profile = report.profile;
		if (!this.profile || !this.profile.sites.length) return el("p.muted", {}, noHistory());
		this.choice = el(
			"select",
			{"aria-label": "What is weighed", onchange: () => this.choose(+this.choice.value)},
			this.profile.units.map(([, , title], i) => el("option", {value: i}, title))
		);
		this.natives = el("input", {type: "checkbox", onchange: () => this.choose(this.weight)});
		const ended = this.profile.sites.some(s => s.weight[SUSPENDED] && !s.allTime);
		this.allTime = el("input", {
			type: "checkbox",
			checked: !ended && this.profile.unended > 0,
			onchange: () => this.choose(this.weight)
		});
		this.search = el("input", {
			type: "search",
			placeholder: "Search functions  /",
			"aria-label": "Search functions and files",
			oninput: () => this.find()
		});
		this.told = el("p.told", {role: "status"});
		this.flame = new Flame(this.told);
		this.help = el("p.muted");
		this.times = el("section");
		this.sites = el("section");
		const box = el(
			"div.waits",
			{},
			el(
				"div.bar-tools",
				{},
				this.choice,
				this.search,
				el("label", {}, this.natives, " threads' own stacks"),
				el("label", {}, this.allTime, " sleep of loops, waits without an end")
			),
			this.help,
			this.flame.box,
			this.told,
			this.times,
			this.sites
		);
		new ResizeObserver(soon(() => this.drawTimes())).observe(this.times);
		this.choose(this.profile.sites.some(s => s.weight[SUSPENDED]) ? SUSPENDED : SWITCHES);
		return box;
	},
	format(value) {
		return this.profile.units[this.weight][1] === "count" ? some(value, "switch", "switches") : duration(value);
	},
	wanted(site) {
		return (!site.native || this.natives.checked) && (!site.allTime || this.allTime.checked);
	},
	// What is weighed of sites that are not listed.
	notListed() {
		const [usual, more] = this.profile.leftOut;
		return usual[this.weight] + (this.allTime.checked ? more[this.weight] : 0);
	},
	allTimes() {
		const usual = this.profile.all[this.weight];
		return this.weight === SUSPENDED && this.allTime.checked ? mergedTimes(usual, this.profile.allUnended) : usual;
	},
	// What is not in the picture, and would hide the rest of it.
	hidden() {
		const {unended, unendedTime} = this.profile;
		return this.weight === SUSPENDED && !this.allTime.checked && unended
			? ` Left out: ${some(unended, "wait")} that had not ended at the end of the trace (${duration(unendedTime)} in all).`
			: "";
	},
	choose(weight) {
		this.weight = weight;
		this.choice.value = weight;
		this.help.textContent = WEIGHT_HELP[weight] + this.hidden();
		this.flame.show(
			flameTree(this.profile, weight, s => this.wanted(s), this.notListed()),
			v => this.format(v)
		);
		this.find();
		this.width = 0;
		this.drawTimes();
		this.drawSites();
	},
	find() {
		const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
		this.flame.search(words);
		this.told.textContent = words.length
			? `${percent(this.flame.found())} of ${this.format(this.flame.root.value)} in what was found`
			: `all: ${this.format(this.flame.root.value)}. Click on a box to zoom in, and again to go back.`;
	},
	drawTimes() {
		const times = this.allTimes(),
			width = Math.min(900, this.times.clientWidth);
		if (width === this.width) return;
		this.width = width;
		const title = `Each ${WEIGHED[this.weight]} of a coroutine`;
		this.times.replaceChildren(
			...(this.weight === SWITCHES
				? []
				: times
					? [
							el("h4", {}, title),
							el("p", {}, timesInWords(times, WEIGHED[this.weight])),
							width > 100 ? histogramPicture(times, WEIGHED[this.weight], width, 190) : "",
							histogramTable(times)
						]
					: [
							el("h4", {}, title),
							el(
								"p.muted",
								{},
								this.weight === 2 ? "No event was seen to lead to a coroutine." : "There was none."
							)
						])
		);
	},
	siteLine(s, all, from, to) {
		const times = s.times[this.weight],
			own = s.names.map(i => this.profile.names[i]),
			last = [...own].reverse().find(n => !n[2]) || own[own.length - 1];
		const label = last ? `${last[0]} ${last[1].replace(/.*\//, "")}` : "?";
		const share = s.weight[this.weight] / all;
		return el(
			"tr",
			{},
			el(
				"td",
				{},
				el(
					"details",
					{},
					el("summary", {}, label, own.length > 1 ? el("span.muted", {}, ` in ${own[0][0]}`) : ""),
					s.stack ? stackList(s.stack) : el("p.muted", {}, own.map(n => n[0]).join(" → "))
				)
			),
			el("td.n", {}, this.format(s.weight[this.weight])),
			el("td.n", {}, percent(share)),
			el("td.n", {}, times ? count(times[0]) : ""),
			el("td.n", {}, times ? duration(times[1] / times[0]) : ""),
			el("td.n", {}, times ? duration(quantile(times, 0.99)[1]) : ""),
			el("td.n", {}, times ? duration(times[2]) : ""),
			el("td", {}, times ? sparkline(times, from, to) : "")
		);
	},
	drawSites() {
		const sites = this.profile.sites
			.filter(s => s.weight[this.weight] && this.wanted(s))
			.sort((a, b) => b.weight[this.weight] - a.weight[this.weight]);
		const all = d3.sum(sites, s => s.weight[this.weight]) + this.notListed() || 1;
		const timed = sites.map(s => s.times[this.weight]).filter(Boolean);
		const from = d3.min(timed, t => t[3]) || 0,
			to = d3.max(timed, t => t[3] + t.length - 4) || 1;
		const heads = [
			"where",
			this.profile.units[this.weight][2],
			"share",
			"how many",
			"mean",
			"99 % at most",
			"longest",
			timed.length ? `${duration(bucketFrom(from))} … ${duration(2 ** to)}` : ""
		];
		const more = sites.length - this.sitesShown;
		this.sites.replaceChildren(
			el("h4", {}, "By site"),
			el(
				"div.scroll",
				{tabindex: 0, role: "group", "aria-label": "Sites"},
				el(
					"table.sites",
					{},
					el(
						"thead",
						{},
						el(
							"tr",
							{},
							heads.map((h, i) => el(i ? "th.n" : "th", {scope: "col"}, h))
						)
					),
					el(
						"tbody",
						{},
						sites.slice(0, this.sitesShown).map(s => this.siteLine(s, all, from, to))
					)
				)
			),
			more > 0
				? el(
						"button",
						{
							type: "button",
							onclick: () => {
								this.sitesShown = Infinity;
								this.drawSites();
							}
						},
						`${count(more)} more`
					)
				: "",
			this.profile.sitesLeftOut
				? el(
						"p.muted",
						{},
						`${some(this.profile.sitesLeftOut, "site")} with little weight are shown as one.`
					)
				: ""
		);
	},
	shown() {
		if (this.flame) this.flame.draw();
	},
	keys: {
		"/"() {
			if (waits.search) waits.search.focus();
		}
	}
};
