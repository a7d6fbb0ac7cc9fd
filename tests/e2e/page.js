// SPDX-License-Identifier: MIT
// Shows a page in Chromium and does what it is told: node page.js CHROMIUM PLAYWRIGHT FILE, with
// the steps as JSON on stdin: [["eval", expression], ["wait", expression], ["key", name], ["type", text],
// ["click", selector], ["at", selector, x expression, y], ["open", "#place"], ["select", selector, value], ["wheel", x, y, by, key], ["size", width, height], ["shot", file]].
// Prints {results, problems}: what each eval gave; errors, and requests for anything but the file.
const [chromium, playwright, file] = process.argv.slice(2);
const problems = [],
	results = [];

// Not page.waitForFunction, which would need eval: the page's policy forbids that.
async function until(page, expression) {
	for (const end = Date.now() + 60000; !(await page.evaluate(expression));) {
		if (Date.now() > end) throw new Error("waited in vain for " + expression);
		await page.waitForTimeout(20);
	}
}

async function step(page, [what, ...to]) {
	switch (what) {
		case "eval":
			results.push(await page.evaluate(to[0]));
			break;
		case "wait":
			await until(page, to[0]);
			break;
		case "key":
			await page.keyboard.press(to[0]);
			break;
		case "type":
			await page.keyboard.type(to[0]);
			break;
		case "click":
			await page.click(to[0]);
			break;
		case "at": {
			// an expression for x, and y, from the corner of what the selector finds
			const box = await page.locator(to[0]).boundingBox();
			await page.mouse.click(box.x + (await page.evaluate(to[1])), box.y + to[2]);
			break;
		}
		case "open":
			await page.goto("about:blank"); // else only the part behind # would change
			await page.goto("file://" + file + to[0]);
			break;
		case "select":
			await page.selectOption(to[0], to[1]);
			break;
		case "size":
			await page.setViewportSize({width: to[0], height: to[1]});
			break;
		case "print":
			await page.emulateMedia({media: "print"});
			break;
		case "shot":
			await page.screenshot({path: to[0]});
			break;
		case "wheel":
			await page.mouse.move(to[0], to[1]);
			await page.keyboard.down(to[3]);
			await page.mouse.wheel(0, to[2]);
			await page.keyboard.up(to[3]);
			break;
		default:
			throw new Error("no step " + what);
	}
}

async function main() {
	const steps = JSON.parse(require("fs").readFileSync(0, "utf8"));
	const browser = await require(playwright).chromium.launch({
		executablePath: chromium,
		args: process.getuid() === 0 ? ["--no-sandbox"] : []
	});
	try {
		const page = await browser.newPage({viewport: {width: 1360, height: 900}});
		page.on("console", m => (m.type() === "error" || m.type() === "warning" ? problems.push(m.text()) : 0));
		page.on("pageerror", e => problems.push(e.stack));
		page.on("dialog", d => {
			problems.push("dialog: " + d.message());
			d.dismiss();
		});
		page.on("request", r =>
			r.url().startsWith("file://" + file) || r.url() === "about:blank" || r.url() === "data:," ? 0 : problems.push("request: " + r.url())
		);
		await page.goto("file://" + file);
		for (const s of steps) await step(page, s);
	} finally {
		await browser.close();
	}
	console.log(JSON.stringify({results, problems}));
}

main().catch(e => {
	console.error(e);
	process.exit(1);
});
