# SPDX-License-Identifier: MIT
"""Whose stack is shown. An unwinder says that the function in which the thread is returns to the coroutine, with
the registers with which that one left: frame 0 remains the thread's, frame 1 is the coroutine's innermost, and
all commands that look at frames work there. No register and no memory is written. Before the program goes on the
choice is given up, so that nothing is ever done with a frame that the thread does not have.
"""
import gdb
import gdb.unwinder
from gdb.FrameDecorator import FrameDecorator

# What the words of a station are called, in their order: pc, sp, ...
REGISTERS = {"i386:x86-64": "rip rsp rbp rbx r12 r13 r14 r15".split(),
             "aarch64": "pc sp x29 x19 x20 x21 x22 x23".split()}
HOW = {1: "swapcontext", 2: "setcontext", 5: "longjmp", 6: "jump_fcontext", 7: "ontop_fcontext"}


class NoStack(gdb.GdbError):
    """There are no frames to be shown; the text says why, and what is known instead."""


class AsyncStack(NoStack):
    """It has a frame in memory, and no stack of calls: the text is the stack of its awaits."""


class FrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = gdb.Value(sp), gdb.Value(pc)


class Choice:
    """Entity `who`, in the place of what the thread itself would return to."""

    def __init__(self, region, who):
        self.region, self.who = region, who
        thread, frame = gdb.selected_thread(), gdb.newest_frame()
        self.names = REGISTERS.get(frame.architecture().name())
        if not self.names:
            raise gdb.GdbError("coroutines of a program for %s cannot be shown" % frame.architecture().name())
        self.inferior, self.thread = gdb.selected_inferior().num, thread.ptid
        self.pc, self.sp = (int(frame.read_register(name)) for name in self.names[:2])
        # A recorded stack that is whole says where it ends: library code without unwind information lies below it.
        pcs, whole = region.stack(who.stack)
        self.frames, self.last = (len(pcs), pcs[-1]) if whole and pcs else (0, 0)

    def is_here(self):
        thread = gdb.selected_thread()
        return thread is not None and thread.ptid == self.thread and gdb.selected_inferior().num == self.inferior

    def is_frame(self, frame):
        """Is it the one in which the thread is?"""
        return all((int(frame.read_register(name)) - value) & (1 << 64) - 1 == 0
                   for name, value in zip(self.names, (self.pc, self.sp)))

    def is_shown(self):
        return self.is_here() and self.is_frame(gdb.newest_frame())


class Unwinder(gdb.unwinder.Unwinder):
    def __init__(self):
        super().__init__("ctp-coroutine")
        self.choice = None

    def __call__(self, frame):
        c = self.choice
        if c is None or not c.is_here() or not c.is_frame(frame):
            return None
        # gdb wants callers' frames above their callees': this one's is said to lie just below the coroutine's.
        info = frame.create_unwind_info(FrameId(c.who.regs[1], c.who.regs[0]))
        for name, value in zip(c.names, c.who.regs):
            info.add_saved_register(name, gdb.Value(value))
        return info


class Boundary(FrameDecorator):
    """Frame 0 in a backtrace, while a coroutine is chosen."""

    def __init__(self, base, who):
        super().__init__(base)
        self.who = who

    def function(self):
        return "<coroutine %d left by %s>" % (self.who.id, HOW.get(self.who.how, "a switch"))

    def _nothing(self):
        return None
    address = filename = line = frame_args = frame_locals = _nothing


class Inside(FrameDecorator):
    """As gdb shows it without filters, where the function has no name."""

    def function(self):
        return super().function() if self.inferior_frame().name() else "??"


class Filter:
    """What backtrace shows: the coroutine's frames alone, up to where they end."""
    name, priority, enabled = "ctp-coroutine", 1000, False

    def filter(self, frames):
        c = unwinder.choice
        return self.own(frames, c) if c is not None and c.is_shown() else frames

    @staticmethod
    def own(frames, c):
        inside, seen = False, 0
        for decorated in frames:
            frame = decorated.inferior_frame()
            if inside:
                yield Inside(decorated)
                if frame.type() != gdb.INLINE_FRAME:
                    seen += 1
                    if seen == c.frames and frame.pc() == c.last:
                        return
            elif frame.type() != gdb.INLINE_FRAME:
                inside = True
                yield Boundary(decorated, c.who)


unwinder, frame_filter = Unwinder(), Filter()
calling = False  # a function of the program, for the user (print f(x))


def first_frame():
    """The coroutine's innermost."""
    frame = gdb.newest_frame()
    while frame is not None and frame.type() == gdb.INLINE_FRAME:
        frame = frame.older()
    return frame.older() if frame is not None else None


def choose(region, who):
    leave()
    unwinder.choice = Choice(region, who)
    gdb.invalidate_cached_frames()
    frame = first_frame()
    if frame is None or frame.pc() != who.regs[0]:
        leave()
        raise NoStack("the stack of coroutine %d cannot be read" % who.id)
    frame_filter.enabled = True
    frame.select()


def leave():
    """Back to the thread's own frames."""
    if unwinder.choice is not None:
        forget()
        gdb.invalidate_cached_frames()


def forget(*_):
    unwinder.choice = None
    frame_filter.enabled = False


def refuse(command):
    """`return` and `jump` would make a coroutine's registers the thread's."""
    if unwinder.choice is not None:
        raise gdb.GdbError("coroutine %d is chosen, which this thread does not run; `coroutine none`, and then %s"
                           % (unwinder.choice.who.id, command))


def on_cont(event):
    c = unwinder.choice
    if c is not None and not calling and (event.inferior_thread is None or event.inferior_thread.ptid == c.thread):
        forget()


def on_call(event):
    """A function of the program is called: the choice remains, unless the coroutine went on meanwhile."""
    global calling
    calling = isinstance(event, gdb.InferiorCallPreEvent)
    c = unwinder.choice
    if c is None or calling:
        return
    try:
        now = c.region.again(c.who)
    except (gdb.error, gdb.GdbError):
        now = None
    if now is None or (now.life, now.changes) != (c.who.life, c.who.changes):
        gdb.write("[coroutine %d went on meanwhile: back on the thread]\n" % c.who.id)
        forget()


class Leave(gdb.Command):
    """Internal: what some commands do first while a coroutine is chosen."""

    def __init__(self):
        super().__init__("maintenance ctp-leave", gdb.COMMAND_MAINTENANCE)

    def invoke(self, refused, from_tty):
        if refused:
            refuse(refused)
        leave()


Leave()
# These begin with where the thread is, as frame 0 says, before gdb tells that it goes on.
for command in ("step", "next", "stepi", "nexti", "until"):
    gdb.execute("define hook-%s\nmaintenance ctp-leave\nend" % command)
for command in ("return", "jump"):
    gdb.execute("define hook-%s\nmaintenance ctp-leave %s\nend" % (command, command))
gdb.unwinder.register_unwinder(None, unwinder, replace=True)
gdb.frame_filters[frame_filter.name] = frame_filter
gdb.events.cont.connect(on_cont)
gdb.events.inferior_call.connect(on_call)
gdb.events.exited.connect(forget)
