// SPDX-License-Identifier: MIT
// Small things in words, and elements. What the program calls things is shown by el() as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

// el("td.name", {title: "x"}, "text", child...)
function fill(e, props, children) {
	for (const [key, value] of Object.entries(props || {})) {
		if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
		else if (value === true) e.setAttribute(key, "");
		else if (value !== null && value !== undefined && value !== false) e.setAttribute(key, value);
	}
	for (const child of children.flat(3))
		if (child !== null && child !== undefined && child !== false) e.append(child);
	return e;
}

function el(name, props, ...children) {
	const [tag, ...classes] = name.split(".");
	const e = document.createElement(tag);
	if (classes.length) e.className = classes.join(" ");
	return fill(e, props, children);
}

function svg(name, props, ...children) {
	const [tag, ...classes] = name.split(".");
	const e = document.createElementNS(SVG, tag);
	if (classes.length) e.setAttribute("class", classes.join(" "));
	return fill(e, props, children);
}

const byId = id => document.getElementById(id);

const round = x => (x >= 99.95 ? x.toFixed(0) : x.toFixed(1));

// "412 ns", "1.6 ms", "3.2 s", "4m12s", "2h07m", "3d04h"
function duration(ns) {
	const s = ns / 1e9,
		two = n => String(Math.floor(n)).padStart(2, "0");
	if (ns < 1000) return Math.round(ns) + " ns";
	if (ns < 1e6) return round(ns / 1e3) + " µs";
	if (ns < 1e9) return round(ns / 1e6) + " ms";
	if (s < 60) return round(s) + " s";
	if (s < 3600) return Math.floor(s / 60) + "m" + two(s % 60) + "s";
	if (s < 86400) return Math.floor(s / 3600) + "h" + two((s % 3600) / 60) + "m";
	return Math.floor(s / 86400) + "d" + two((s % 86400) / 3600) + "h";
}

const count = n => n.toLocaleString("en-US");
const some = (n, one, many) => count(n) + " " + (n === 1 ? one : many || one + "s");
const percent = share => (share >= 0.1 ? Math.round(share * 100) + " %" : (share * 100).toFixed(1) + " %");
// A time from the trace's start: "+0.412138 s"
const moment = ns => "+" + (ns / 1e9).toFixed(6) + " s";

// The same with the time of day, where the run was: "+0.412138 s (15:01:02.123)"
function when(ns) {
	const {wallUs, offset} = report.trace;
	if (!wallUs) return moment(ns);
	const wall = new Date(wallUs / 1e3 + ns / 1e6 + offset * 1e3).toISOString().slice(11, 23);
	return `${moment(ns)} (${wall})`;
}

function say(text) {
	byId("live").textContent = text;
}

// A function that runs once for many calls, when the browser paints next.
function soon(run) {
	let due = false;
	return () => {
		if (due) return;
		due = true;
		requestAnimationFrame(() => {
			due = false;
			run();
		});
	};
}
