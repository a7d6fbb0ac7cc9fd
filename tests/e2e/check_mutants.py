# SPDX-License-Identifier: MIT
"""That each mutation of tests/mutants still changes what it says. `make mutants` tries them."""
from harness import ROOT, equal


def check_texts(case):
    done = case.run("/usr/bin/python3", ROOT / "tests/mutants/run.py", "--texts")
    equal(done.status, 0, f"mutations whose text is not in its file once: {done.err}")


CHECKS = [("texts", check_texts)]
