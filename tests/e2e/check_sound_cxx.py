# SPDX-License-Identifier: MIT
"""What C++ servers keep their waiters in, and how they lose them: as check_sound."""
import os
import signal

import packages
from check_engines import TARGETS, built
from check_sound import check_place, check_resumed, verdicts
from harness import child_of, equal, need, tool, until, witness

CXX = ["shared", "self_owner", "by_number", "callback", "any", "message", "queue", "promise", "exception", "in_flight",
       "last_wish"]
# PROVEN, or something is left of the way back, which is told.
LOST = ["erased", "popped", "callback", "expired", "exception", "cleared", "overwritten", "message", "thread", "nowhere"]


def cxx(case):
    packages.want("g++")
    return built(case, "t-sound-cxx", tool("gcc"), "-O1", "-g", "-w", "-D_GNU_SOURCE",
                 *[TARGETS / s for s in ("sound_hide.c", "co.c", "must.c", "sound_cxx.cpp")], "-lstdc++", "-lpthread")


def check_lost(case, place):
    process = case.ctp_start(cxx(case), "lost_" + place)
    process.wait_for("ready")
    program = child_of(process.pid)
    until(lambda: any(e["id"] == "P6a" and e["holds"] is not None for line in witness(case.dir / "ctp.data")
                      for e in line["evidence"]), "P6 in the witness")
    os.kill(program, signal.SIGKILL)
    equal(process.done().status, -signal.SIGKILL, "ctp-run's status")
    found, report = verdicts(case)
    need(found in ([("CTP001", "proven")], [("CTP001", "likely")]), f"{place}: {report['findings']}")
    need(found[0][1] == "proven" or any("leads to it" in way for way in report["findings"][0]["open"]),
         f"{place}: {report['findings']}")


def checks():
    for place in CXX:
        yield f"never_proven/{place}", lambda case, place=place: check_place(case, place, cxx(case))
        yield f"resumed/{place}", lambda case, place=place: check_resumed(case, place, cxx(case))
    for place in LOST:
        yield f"found/{place}", lambda case, place=place: check_lost(case, place)


CHECKS = list(checks())
