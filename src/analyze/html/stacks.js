// SPDX-License-Identifier: MIT
// A stack: the program's own frames with their source line; a run of library frames folded.

function frameLine(f, number) {
	return el(
		f[4] ? "li.frame.lib" : "li.frame",
		{value: number},
		el("span.fn", {}, f[0]),
		" ",
		el("span.at", {title: f[5] || ""}, frameAt(f)),
		f[6] ? el("span.at", {}, " inlined") : null,
		f[3] ? el("code.src", {}, f[3]) : null
	);
}

function foldedFrames(frames, first) {
	const button = el(
		"button.fold",
		{
			type: "button",
			onclick: () => {
				item.replaceWith(...frames.map((f, i) => frameLine(f, first + i)));
			}
		},
		some(frames.length, "frame") + " of libraries"
	);
	const item = el("li.frame.lib", {value: first}, button);
	return item;
}

function stackList(stack) {
	const frames = stackFrames(stack),
		list = el("ol.stack", {start: 0});
	if (!frames.length) return el("p.muted", {}, "its stack was not captured");
	const onlyLibraries = frames.every(f => f[4]);
	for (let i = 0; i < frames.length;) {
		let end = i;
		while (!onlyLibraries && end < frames.length && frames[end][4]) end++;
		list.append(end > i ? foldedFrames(frames.slice(i, end), i) : frameLine(frames[i], i));
		i = Math.max(end, i + 1);
	}
	return list;
}
