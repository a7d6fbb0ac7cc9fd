# SPDX-License-Identifier: MIT
"""A line chart as SVG, without any library: a logarithmic x, and a y that is logarithmic or linear."""
import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 200, 40, 50
COLORS = ("#0b6bcb", "#c2410c", "#15803d", "#9333ea", "#a16207", "#0e7490", "#be185d", "#4b5563")


def label(value):
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


class Axis:
    """Values to places between `low` and `high`, with its ticks."""

    def __init__(self, values, start, end, log):
        self.log, self.start, self.end = log, start, end
        if log:
            self.low = 10 ** math.floor(math.log10(min(values)))
            self.high = 10 ** math.ceil(math.log10(max(max(values), self.low * 10)))
            self.ticks = [10.0 ** e for e in range(round(math.log10(self.low)), round(math.log10(self.high)) + 1)]
        else:
            most = max([1, *values])
            step = 10 ** math.floor(math.log10(most))
            top = next(m for m in (1, 2, 5, 10) if m * step >= most) * step
            self.low, self.high = 0, top
            self.ticks = [top * i / 5 for i in range(6)]

    def at(self, value):
        scale = math.log10 if self.log else float
        part = (scale(max(value, self.low)) - scale(self.low)) / (scale(self.high) - scale(self.low))
        return self.start + min(part, 1) * (self.end - self.start)


def spaced(places, gap=15):
    """Labels at the lines' ends, moved apart: [(wanted y, name)] to name -> y."""
    moved, last = {}, math.inf
    for y, name in sorted(places, reverse=True):
        last = min(y, last - gap)
        moved[name] = last
    return moved


def style(name, colors):
    """One colour for a tool, dashes for its second way (`tool, way`)."""
    tool, _, way = name.partition(", ")
    dashes = ' stroke-dasharray="6 4"' if way == "fcontext" else ""
    return colors.setdefault(tool, COLORS[len(colors) % len(COLORS)]), dashes


def chart(title, x_title, y_title, series, log_y):
    """`series`: name -> [(x, y)]. Where y is logarithmic, less than 1 is shown as 1."""
    series = {name: sorted((x, max(y, 1) if log_y else y) for x, y in points) for name, points in series.items()}
    xs = Axis([x for points in series.values() for x, _ in points], LEFT, WIDTH - RIGHT, True)
    ys = Axis([y for points in series.values() for _, y in points], HEIGHT - BOTTOM, TOP, log_y)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
           'font-family="sans-serif" font-size="12">',
           f"<title>{escape(title)}</title>", f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
           f'<text x="{LEFT}" y="22" font-size="14" font-weight="bold">{escape(title)}</text>']
    for value in ys.ticks:
        y = ys.at(value)
        out.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#d4d4d8"/>'
                   f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label(value)}</text>')
    for value in xs.ticks:
        x = xs.at(value)
        out.append(f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#d4d4d8"/>'
                   f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{label(value)}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">{escape(x_title)}</text>'
               f'<text transform="translate(16 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">'
               f'{escape(y_title)}</text>')
    ends = spaced([(ys.at(points[-1][1]), name) for name, points in series.items()])
    colors = {}
    for name, points in series.items():
        color, dashes = style(name, colors)
        line = " ".join(f"{xs.at(x):.1f},{ys.at(y):.1f}" for x, y in points)
        out.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"{dashes}/>')
        out += [f'<circle cx="{xs.at(x):.1f}" cy="{ys.at(y):.1f}" r="3" fill="{color}"/>' for x, y in points]
        out.append(f'<text x="{WIDTH - RIGHT + 8}" y="{ends[name] + 4:.1f}" fill="{color}">{escape(name)}</text>')
    return "\n".join(out) + "\n</svg>\n"


CHARTS = {  # points -> file's ending, title, x, y, whether y is logarithmic
    "cost": ("cost", "What is added to a switch", "coroutines", "ns added", True),
    "loss": ("loss", "Records lost", "switches a second (Boost.Context, bursts each ms)", "% lost", False),
}


def write(points, page):
    """A file beside the page for each chart that has points: the files' names with their titles."""
    written = []
    for name, (ending, *words) in CHARTS.items():
        if points.get(name):
            path = page.with_name(f"{page.stem}-{ending}.svg")
            path.write_text(chart(*words[:3], points[name], words[3]))
            written.append((path.name, words[0]))
    return written
