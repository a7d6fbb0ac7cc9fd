// SPDX-License-Identifier: MIT
// Histograms of times, in powers of two: [how many, sum, the longest, first bucket, counts ...]

const bucketFrom = i => (i ? 2 ** i : 0);

// Of both together; either may be null.
function mergedTimes(a, b) {
	if (!a || !b) return a || b;
	const first = Math.min(a[3], b[3]),
		end = Math.max(a[3] + a.length, b[3] + b.length) - 4;
	const at = (times, i) => times[4 + i - times[3]] || 0;
	const counts = d3.range(first, end).map(i => (i < a[3] ? 0 : at(a, i)) + (i < b[3] ? 0 : at(b, i)));
	return [a[0] + b[0], a[1] + b[1], Math.max(a[2], b[2]), first, ...counts];
}

// A quantile is known as exactly as its bucket is narrow: both ends are told.
function quantile(times, share) {
	const [n, , most, first, ...counts] = times;
	let seen = 0;
	for (let i = 0; i < counts.length; i++) {
		seen += counts[i];
		if (seen >= n * share) return [bucketFrom(first + i), Math.min(most, 2 ** (first + i + 1))];
	}
	return [0, most];
}

const between = (times, share) => quantile(times, share).map(duration).join(" to ");

function timesInWords(times, what) {
	const [n, sum, most] = times;
	return `${some(n, what)}: mean ${duration(sum / n)}, median ${between(times, 0.5)}, 99th percentile ${between(times, 0.99)}, longest ${duration(most)}`;
}

// Bars over a logarithmic axis of time.
function histogramPicture(times, what, width, height) {
	const [, , , first, ...counts] = times;
	const left = 56,
		bottom = 26,
		top = 8,
		from = Math.max(0, first - 1),
		to = first + counts.length + 1;
	const x = d3
		.scaleLinear()
		.domain([from, to])
		.range([left, width - 24]);
	const y = d3
		.scaleLinear()
		.domain([0, d3.max(counts)])
		.nice(4)
		.range([height - bottom, top]);
	const picture = svg("svg.histogram", {width, height, role: "img", "aria-label": timesInWords(times, what)});
	counts.forEach((n, i) => {
		const at = first + i,
			words = `${duration(bucketFrom(at))} to ${duration(2 ** (at + 1))}: ${count(n)}`;
		if (n)
			picture.append(
				svg(
					"rect.hbar",
					{
						x: x(at) + 1,
						width: Math.max(1, x(at + 1) - x(at) - 2),
						y: Math.min(y(n), height - bottom - 1),
						height: Math.max(1, height - bottom - y(n))
					},
					svg("title", {}, words)
				)
			);
	});
	const every = Math.max(1, Math.ceil(((to - from) * 62) / (width - left)));
	d3.select(picture)
		.append("g")
		.attr("transform", `translate(0,${height - bottom})`)
		.call(
			d3
				.axisBottom(x)
				.tickValues(d3.range(from, to + 1, every))
				.tickFormat(i => duration(bucketFrom(i)))
		);
	d3.select(picture)
		.append("g")
		.attr("transform", `translate(${left},0)`)
		.call(d3.axisLeft(y).ticks(4).tickFormat(d3.format("~s")));
	return picture;
}

// The same for those who read it.
function histogramTable(times) {
	const [, , , first, ...counts] = times;
	return el(
		"details",
		{},
		el("summary", {}, "as a table"),
		el(
			"table.numbers",
			{},
			el("tr", {}, el("th", {}, "from"), el("th", {}, "to"), el("th", {}, "how many")),
			counts.map((n, i) =>
				n
					? el(
							"tr",
							{},
							el("td", {}, duration(bucketFrom(first + i))),
							el("td", {}, duration(2 ** (first + i + 1))),
							el("td", {}, count(n))
						)
					: null
			)
		)
	);
}

// Small, for a line of a table: on an axis that all lines share.
function sparkline(times, from, to) {
	const [, , , first, ...counts] = times,
		most = d3.max(counts),
		w = 140 / (to - from);
	return svg(
		"svg.spark",
		{width: 140, height: 18, "aria-hidden": "true"},
		counts.map((n, i) =>
			n
				? svg("rect.hbar", {
						x: (first + i - from) * w,
						width: Math.max(1, w - 1),
						y: 18 - Math.max(2, (n / most) * 17),
						height: Math.max(2, (n / most) * 17)
					})
				: null
		)
	);
}
