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

// Frames that are told when they are asked for.
function foldedFrames(frames, first, words) {
	const item = el(
		"li.frame.lib",
		{value: first},
		el(
			"button.fold",
			{type: "button", onclick: () => item.replaceWith(...frames.map((f, i) => frameLine(f, first + i)))},
			words
		)
	);
	return item;
}

const sameFrame = (f, g) => f[0] === g[0] && f[1] === g[1] && f[2] === g[2];

// What a recursion looks like: how many frames from `at` on repeat the `period` before them, at least twice.
function repeats(frames, at) {
	for (let period = 1; period <= 6; period++) {
		let n = 0;
		while (at + n < frames.length && at + n - period >= 0 && sameFrame(frames[at + n], frames[at + n - period]))
			n++;
		n -= n % period;
		if (n / period >= 2) return [n, period];
	}
	return [0, 1];
}

function stackList(stack) {
	const frames = stackFrames(stack),
		list = el("ol.stack", {start: 0});
	if (!frames.length) return el("p.muted", {}, "its stack was not captured");
	const onlyLibraries = frames.every(f => f[4]);
	for (let i = 0; i < frames.length;) {
		let end = i;
		while (!onlyLibraries && end < frames.length && frames[end][4]) end++;
		const [again, period] = repeats(frames, i);
		if (again > end - i) {
			const times = again / period;
			list.append(
				foldedFrames(
					frames.slice(i, i + again),
					i,
					`${period > 1 ? `these ${period}` : "the same"} ${times} times more`
				)
			);
			end = i + again;
		} else if (end > i) {
			list.append(foldedFrames(frames.slice(i, end), i, `${some(end - i, "frame")} of libraries`));
		} else {
			list.append(frameLine(frames[i], i));
		}
		i = Math.max(end, i + 1);
	}
	return list;
}
