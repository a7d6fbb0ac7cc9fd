# SPDX-License-Identifier: MIT
"""Numbers as they stand in the table: a median of runs next to each other, with its spread, against a goal."""
import dataclasses
import statistics


class Missing(Exception):
    """Cannot be measured here; the reason is its text."""


def median(values):
    return statistics.median(values)


def spread(values):
    """The least and the most."""
    return min(values), max(values)


def short(value):
    """Three digits, and no exponent."""
    size = abs(value)
    if size >= 1e6:
        return f"{value / 1e6:.3g} M" if size < 1e9 else f"{value / 1e6:,.0f} M"
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.2f}"


def told(values, unit="", plus=False, scale=1):
    """`+12.3 ns (11.8 to 14.0)`: median, least and most."""
    values = [v * scale for v in values]
    sign = "+" if plus and median(values) >= 0 else ""
    text = f"{sign}{short(median(values))}{' ' + unit if unit else ''}"
    low, high = spread(values)
    return f"{text} ({short(low)} to {short(high)})" if len(values) > 1 else text


def least(bare, other, unit):
    """The least of one against the least of the other: what is left when the rounds in which others had the machine are not
    looked at."""
    return f"; least against least {told([min(other) - min(bare)], unit, plus=True)}" if len(bare) > 1 else ""


@dataclasses.dataclass
class Row:
    """A line of the table. `value` is judged against `limit`: at most it, or at least it where `least`;
    text alone (`goal`) where there is nothing to judge."""
    what: str
    got: str
    bare: str = ""
    others: str = ""     # what the same costs with what a user would take instead, or more about it
    goal: str = ""
    value: object = None  # or one of each round
    limit: float = None
    least: bool = False

    def met(self):
        """Unclear where the middle half of the rounds is on both sides."""
        if self.value is None or self.limit is None:
            return ""
        values = self.value if isinstance(self.value, list) else [self.value]
        low, _, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
        good = [(x >= self.limit) if self.least else (x <= self.limit) for x in (low, high)]
        return "yes" if all(good) else "unclear" if any(good) else "no"


def missing(what, why, goal=""):
    return Row(what, f"not measured: {why}", goal=goal)


def coroutines(n):
    return f"{n:,} coroutine{'s' * (n != 1)}"


def peer(name, values, tell):
    """What a peer's runs have come to; or why there are none."""
    return f"{name}: not measured: {values}" if isinstance(values, Missing) else f"{name} {tell(values)}"


def paired(bare, other):
    """Differences and ratios of runs next to each other."""
    return [o - b for b, o in zip(bare, other)], [o / b for b, o in zip(bare, other) if b]
