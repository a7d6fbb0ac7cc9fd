# SPDX-License-Identifier: MIT
"""Debian packages: built, without an error of lintian's, installed and removed without a trace; and the workflow files."""
import os
import re
import subprocess

from harness import ROOT, Skip, equal, need, patience, tool


def check_debian(case):
    """scripts/try-package does all of it; --chroot, which a new Debian is made for, is left to the CI service."""
    env = {**os.environ, "DEB_BUILD_OPTIONS": "noopt", "PACKAGES": str(case.dir / "packages")}
    done = subprocess.run([ROOT / "scripts/try-package"], env=env, capture_output=True, text=True, timeout=patience(600))
    if done.returncode == 77:
        raise Skip(done.stdout.strip().removeprefix("skipped: "))
    equal(done.returncode, 0, f"{done.stdout}{done.stderr}")
    need(done.stdout.endswith("removed: nothing is left\n"), done.stdout)
    need(re.search(r"^lintian: 0 errors and warnings$", done.stdout, re.M), done.stdout)
    names = {path.name.split("_")[0] for path in (case.dir / "packages").glob("*.deb")}
    equal(names, {"ctp", "ctp-dev", "ctp-dbgsym"}, "packages")


def check_pkg_config(case):
    """A program that includes the headers is compiled with what pkg-config says of ctp."""
    if not (case.build / "build.ninja").exists():
        raise Skip("no build tree to install from")
    done = case.run(tool("meson"), "install", "-C", case.build, "--no-rebuild", "--destdir", case.dir / "root")
    equal(done.status, 0, f"{done}")
    [pc] = (case.dir / "root").rglob("ctp.pc")
    env = {"PKG_CONFIG_PATH": str(pc.parent), "PKG_CONFIG_SYSROOT_DIR": str(case.dir / "root"), "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1"}
    done = case.run(tool("pkg-config"), "--cflags", "--libs", "ctp", env=env)
    equal(done.status, 0, f"{done}")
    equal([word for word in done.out.split() if word.startswith("-l")], [], "what is to be linked")
    (case.dir / "named.c").write_text('#include <ctp/task.h>\nint main(void) { ctp_set_name("one"); return 0; }\n')
    built = case.run("cc", "-o", "named", "named.c", *done.out.split())
    equal((built.status, built.err), (0, ""), "compiled")
    equal(case.run("./named").status, 0, "without ctp the call does nothing")


def check_workflows(case):
    """They are YAML with jobs and steps; what they run are commands that bash reads, and scripts that are here."""
    try:
        import yaml
    except ImportError as error:
        raise Skip("python3-yaml is not installed") from error
    seen = []
    for path in (ROOT / ".github/workflows/ci.yml", ROOT / "docs/sarif-workflow.yml"):
        flow = yaml.safe_load(path.read_text())
        need({"push", "pull_request"} <= set(flow[True]), f"{path}: when it runs: {flow[True]}")  # YAML 1.1 takes `on` for true
        for name, job in flow["jobs"].items():
            need(job["timeout-minutes"] <= 40 and job["steps"], f"{path}: {name}")
            for step in job["steps"]:
                need(("run" in step) != ("uses" in step), f"{path}: {name}: {step}")
                if "uses" in step:
                    need(re.fullmatch(r"[\w./-]+@v\d+", step["uses"]), f"{path}: {step}")
                    continue
                text = re.sub(r"\$\{\{.*?\}\}", "x", step["run"])
                equal(subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True).stderr, "", f"{path}: {text}")
                for script in re.findall(r"\bscripts/\w[\w-]*", text):
                    need((ROOT / script).is_file(), f"{path}: there is no {script}")
                    seen.append(script)
        uploads = [step for job in flow["jobs"].values() for step in job["steps"] if "upload-sarif" in step.get("uses", "")]
        need(uploads and all(step["with"]["sarif_file"] == "ctp.sarif" for step in uploads), f"{path}: no SARIF is uploaded")
    need({"scripts/test", "scripts/unit", "scripts/try-package", "scripts/demo"} <= set(seen), f"{seen}")


CHECKS = [(name[len("check_"):], function) for name, function in list(globals().items()) if name.startswith("check_")]
