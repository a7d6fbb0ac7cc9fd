// SPDX-License-Identifier: MIT
// A flame graph, roots above: boxes are buttons, and only those that can be seen are there.

const BOX = 20;

// The sites of a profile as a tree: what a node weighs is the sum of what is below it.
function flameTree(profile, weight, wanted, notListed) {
	const root = {name: "all", place: "", value: 0, children: new Map()};
	const add = (names, value) => {
		let node = root;
		root.value += value;
		for (const n of names) {
			const [name, place, library] = n;
			const key = name + "\n" + place;
			if (!node.children.has(key))
				node.children.set(key, {name, place, library, value: 0, children: new Map()});
			node = node.children.get(key);
			node.value += value;
		}
	};
	for (const site of profile.sites)
		if (site.weight[weight] && wanted(site))
			add(
				site.names.map(i => profile.names[i]),
				site.weight[weight]
			);
	if (notListed) add([[`[${some(profile.sitesLeftOut, "site")} not told apart]`, "", 0]], notListed);
	const settle = node => {
		node.children = [...node.children.values()].sort((a, b) => b.value - a.value);
		node.children.forEach(settle);
		return node;
	};
	return settle(root);
}

class Flame {
	constructor(told) {
		this.told = told;
		this.box = el("div.flame", {
			role: "group",
			"aria-label": "Flame graph: arrow keys move, Enter zooms, Backspace goes back"
		});
		this.box.addEventListener("keydown", e => this.key(e));
		this.words = [];
		new ResizeObserver(soon(() => this.draw())).observe(this.box);
	}
	show(tree, format) {
		this.format = format;
		this.root = d3
			.hierarchy(tree, n => n.children)
			.each(n => {
				n.value = n.data.value;
			});
		d3.partition()(this.root);
		this.focus = this.root;
		this.draw();
	}
	search(words) {
		this.words = words;
		this.draw();
	}
	hit(node) {
		return (
			this.words.length &&
			this.words.every(w => (node.data.name + " " + node.data.place).toLowerCase().includes(w))
		);
	}
	// The share of all that stands in boxes with the words, none counted twice.
	found() {
		let sum = 0;
		const look = n => {
			if (this.hit(n)) sum += n.value;
			else (n.children || []).forEach(look);
		};
		look(this.root);
		return this.root.value ? sum / this.root.value : 0;
	}
	draw() {
		const width = this.box.clientWidth;
		if (!this.root || !width) return;
		const {x0, x1} = this.focus,
			scale = width / (x1 - x0 || 1);
		const held = this.box.contains(document.activeElement) ? this.at : null;
		this.boxes = [];
		const place = node => {
			const left = Math.max(0, (node.x0 - x0) * scale),
				right = Math.min(width, (node.x1 - x0) * scale);
			if (right - left < 1.5 || node.x1 <= x0 || node.x0 >= x1) return;
			this.boxes.push(this.one(node, left, right - left));
			(node.children || []).forEach(place);
		};
		place(this.root);
		this.box.replaceChildren(...this.boxes);
		this.box.style.height = (d3.max(this.boxes, b => b.node.depth) + 1) * BOX + "px";
		const now = this.boxes.find(b => b.node === (held || this.focus)) || this.boxes[0];
		if (now) {
			now.tabIndex = 0;
			if (held) now.focus();
		}
	}
	one(node, left, width) {
		const {name, place, library} = node.data,
			share = percent(node.value / (this.root.value || 1));
		const kind = name.startsWith("[") ? "made" : library ? "lib" : "own";
		const words = `${name}${place ? ", " + place : ""}: ${this.format(node.value)}, ${share}`;
		const box = el(
			`button.box.${kind}${this.hit(node) ? ".hit" : ""}`,
			{type: "button", tabindex: -1, title: words, "aria-label": words},
			name
		);
		box.node = node;
		box.style.left = left + "px";
		box.style.top = node.depth * BOX + "px";
		box.style.width = Math.max(1, width - 1) + "px";
		box.addEventListener("click", () => this.zoom(node));
		box.addEventListener("focus", () => {
			this.at = node;
			this.told.textContent = words;
		});
		box.addEventListener("mouseenter", () => {
			this.told.textContent = words;
		});
		return box;
	}
	zoom(node) {
		this.focus = this.focus === node ? node.parent || node : node;
		this.draw();
	}
	key(e) {
		const at = this.at || this.root,
			same = this.boxes.filter(b => b.node.depth === at.depth).map(b => b.node);
		const to = {
			ArrowDown: () => (at.children || []).find(c => this.boxes.some(b => b.node === c)),
			ArrowUp: () => at.parent,
			ArrowRight: () => same[same.indexOf(at) + 1],
			ArrowLeft: () => same[same.indexOf(at) - 1],
			Backspace: () => {
				this.focus = this.focus.parent || this.focus;
				this.draw();
				return at;
			}
		}[e.key];
		if (!to) return;
		e.preventDefault();
		e.stopPropagation();
		const box = this.boxes.find(b => b.node === to());
		if (box) box.focus();
	}
}
