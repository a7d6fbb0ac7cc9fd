# SPDX-License-Identifier: MIT
"""The models of spec/models: spin must find nothing in each, and something in each of its
mutations, which the model's header lists. What a model says that it mirrors must be there."""
import functools
import re

from harness import ROOT, need, tool

MODELS = sorted((ROOT / "spec/models").glob("*.pml"))
MEGABYTES = 512
BOUND = 180  # seconds; an idle machine needs five for the largest


def mutations(model):
    return re.findall(r"^ \* mutation (\w+):", model.read_text(), re.M)


def search(case, model, mutation=None):
    """What pan says of a model."""
    spin, cc = tool("spin"), tool("cc")
    for words in ([spin, "-a", *([f"-D{mutation}"] if mutation else []), model],
                  [cc, "-O1", "-w", "-DSAFETY", f"-DMEMLIM={MEGABYTES}", "-o", "pan", "pan.c"]):
        done = case.start(*words).done(BOUND)
        need(done.status == 0 and "Error" not in done.out, f"{words[0]}: {done}")
    return case.start("./pan", "-m10000").done(BOUND).out


def check_model(case, model):
    said = search(case, model)
    need(re.search(r"errors: 0$", said, re.M), said)
    for word in ("not completed", "too small", "out of memory"):
        need(word not in said, said)
    need("unreached in proctype" in said, said)


def check_mutation(case, model, mutation):
    said = search(case, model, mutation)
    need("assertion violated" in said, f"spin does not find {mutation}: {said}")


def check_mirrors(case):
    sources = {str(p.relative_to(ROOT)): p.read_text() for p in (ROOT / "src").rglob("*.[ch]")}
    names = set()
    for text in sources.values():
        names.update(re.findall(r"\b[a-z_0-9]+\b", text))
    for model in MODELS:
        text = model.read_text()
        mirrors = re.search(r"Mirrors:(.*?)\n \*\n", text, re.S)
        need(mirrors, f"{model.name} does not say what it mirrors")
        need(len(mutations(model)) > 0, f"{model.name} has no mutation")
        for mutation in mutations(model):
            need(re.search(rf"^#ifn?def {mutation}$", text, re.M), f"{model.name}: {mutation} changes nothing")
        words = re.sub(r"\([^)]*\)", " ", mirrors[1])
        for path in re.findall(r"src/\S+\.[ch]", words):
            need(path in sources, f"{model.name}: no {path}")
        for name in re.findall(r"\b[a-z]+_[a-z_0-9]+\b", re.sub(r"\S+\.[ch]\b", " ", words)):
            need(name in names, f"{model.name}: nothing is called {name}")


CHECKS = [("mirrors", check_mirrors)]
for path in MODELS:
    CHECKS.append((path.stem, functools.partial(check_model, model=path)))
    CHECKS += [(f"{path.stem}/{name}", functools.partial(check_mutation, model=path, mutation=name)) for name in mutations(path)]
