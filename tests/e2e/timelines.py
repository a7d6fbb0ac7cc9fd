# SPDX-License-Identifier: MIT
"""Timelines as a viewer reads them: Perfetto traces and Chrome's JSON become slices and marks
on tracks. Whatever a viewer would drop or guess at is an error here."""
import collections
import decimal
import json
import pathlib
import subprocess

from harness import Failed, Skip, equal, need, tool

PROTO = pathlib.Path(__file__).resolve().parent / "perfetto.proto"
CLEARED, NEEDS_STATE = 1, 2
BEGIN, END, INSTANT = 1, 2, 3

Slice = collections.namedtuple("Slice", "track name since ns args")
Mark = collections.namedtuple("Mark", "track name ns args flow")


class Timeline:
    def __init__(self):
        self.tracks = {}  # id -> (kind, name, tid or parent, pid)
        self.slices, self.marks = [], []
        self.flows = {}  # id -> [ns it begins at, ns it ends at, track there]

    def of(self, kind):
        return {k for k, v in self.tracks.items() if v[0] == kind}

    def on(self, kind):
        tracks = self.of(kind)
        return [s for s in self.slices if s.track in tracks]


def trace_class():
    """The class that the schema describes."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError:
        raise Skip("python3-protobuf is not installed")
    made = subprocess.run([tool("protoc"), f"--proto_path={PROTO.parent}", "--descriptor_set_out=/dev/stdout", PROTO.name],
                          check=True, stdout=subprocess.PIPE)
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(made.stdout).file:
        pool.Add(file)
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName("perfetto.protos.Trace"))


def knows_all(message):
    """No field is there that the schema does not name."""
    if len(message.UnknownFields()):  # only then the message is made, here and below: most are made of a whole event
        raise Failed(f"unknown fields in a {message.DESCRIPTOR.name}: {message}")
    for field, value in message.ListFields():
        if field.message_type:
            for part in value if field.label == field.LABEL_REPEATED else [value]:
                knows_all(part)


class Sequence:
    """A packet sequence: its clock and what it has said once and for all."""

    def __init__(self):
        self.valid = False

    def clear(self, packet):
        clocks = {c.clock_id: c for c in packet.clock_snapshot.clocks}
        equal(packet.clock_snapshot.primary_trace_clock, 3, "the clock of the trace")
        need(clocks[64].is_incremental and clocks[64].timestamp == clocks[3].timestamp, packet)
        self.valid, self.ns = True, clocks[64].timestamp
        self.track = packet.trace_packet_defaults.track_event_defaults.track_uuid
        equal(packet.trace_packet_defaults.timestamp_clock_id, 64, "the sequence's clock")
        self.names, self.notes, self.texts = {}, {}, {}

    def intern(self, data):
        for entries, known, key in ((data.event_names, self.names, "name"), (data.debug_annotation_names, self.notes, "name"),
                                    (data.debug_annotation_string_values, self.texts, "str")):
            for entry in entries:
                if not entry.iid or entry.iid in known:
                    raise Failed(f"told twice: {entry}")
                value = getattr(entry, key)
                known[entry.iid] = value.decode() if isinstance(value, bytes) else value

    def time(self, packet):
        if packet.timestamp_clock_id == 3:
            return packet.timestamp
        equal(packet.timestamp_clock_id, 0, "another clock")
        self.ns += packet.timestamp
        return self.ns

    def args(self, event):
        found = {}
        for a in event.debug_annotations:
            name = a.name or self.notes[a.name_iid]
            value = self.texts[a.string_value_iid] if a.string_value_iid else \
                a.string_value or a.uint_value or a.int_value or a.double_value or a.pointer_value
            need(name not in found, event)
            found[name] = value
        return found


def describe(line, track):
    """One that is described again, as its coroutine came to be after all, is the same."""
    need(track.uuid, track)
    parent = line.tracks.get(track.parent_uuid)
    need(parent or not track.parent_uuid, f"no parent: {track}")
    if track.HasField("process"):
        said = ("process", track.process.process_name, track.process.pid, track.process.pid)
    elif track.HasField("thread"):
        equal(track.thread.pid, parent[3], "the thread's process")
        said = ("thread", track.thread.thread_name, track.thread.tid, parent[3])
    elif track.name in ("coroutines", "findings") or track.name.startswith("probes in thread "):
        said = (track.name.split()[0], track.name, track.parent_uuid, parent[3])
    else:
        equal(parent[:2], ("coroutines", "coroutines"), "a coroutine's group")
        said = ("coroutine", track.name, int(track.name.rsplit(" ", 1)[1]), parent[3])
    equal(line.tracks.setdefault(track.uuid, said), said, "described again")


def read_packets(path, line):
    """Events in the order of time, where equal in that of the file: (ns, type, track, name, args, flows)."""
    trace = trace_class()()
    trace.ParseFromString(path.read_bytes())
    knows_all(trace)
    sequences, events = collections.defaultdict(Sequence), []
    for packet in trace.packet:
        s = sequences[packet.trusted_packet_sequence_id]
        if packet.HasField("track_descriptor"):
            describe(line, packet.track_descriptor)
        if packet.sequence_flags & CLEARED:
            s.clear(packet)
        if not packet.HasField("track_event"):
            continue
        need(s.valid and packet.sequence_flags == NEEDS_STATE, packet)
        if packet.HasField("interned_data"):
            s.intern(packet.interned_data)
        event = packet.track_event
        if event.track_uuid == s.track and s.track:
            raise Failed(f"its default, told all the same: {packet}")
        track = event.track_uuid or s.track
        if track not in line.tracks:
            raise Failed(f"no such track: {packet}")
        name = s.names[event.name_iid] if event.name_iid else event.name
        need((event.type == END) == (not name), packet)
        events.append((s.time(packet), event.type, track, name, s.args(event), list(event.flow_ids), list(event.terminating_flow_ids)))
    return sorted(events, key=lambda e: e[0])


def perfetto(path):
    line = Timeline()
    open_slices = collections.defaultdict(list)
    for ns, kind, track, name, args, begins, ends in read_packets(path, line):
        for flow in begins:
            need(flow not in line.flows, f"flow {flow} begins twice")
            line.flows[flow] = [ns, None, None]
        for flow in ends:
            need(flow in line.flows and line.flows[flow][1] is None, f"flow {flow} ends twice, or before it begins")
            line.flows[flow][1:] = [ns, track]
        if kind == BEGIN:
            open_slices[track].append((name, ns, args))
        elif kind == END:
            if not open_slices[track]:
                raise Failed(f"nothing to end on {line.tracks[track]} at {ns}")
            began = open_slices[track].pop()
            line.slices.append(Slice(track, began[0], began[1], ns, {**began[2], **args}))
        else:
            line.marks.append(Mark(track, name, ns, args, begins))
    left = [line.tracks[t] for t, s in open_slices.items() if s]
    need(not left, f"never ended: {left[:5]}")
    return line


def nanoseconds(microseconds):
    return int((microseconds * 1000).to_integral_value()) if isinstance(microseconds, decimal.Decimal) else microseconds * 1000


def chrome_async(line, event, open_slices):
    key = (event["pid"], event["cat"], event["id2"]["local"])
    ns = nanoseconds(event["ts"])
    if event["ph"] == "b":
        if not open_slices[key]:
            kind, known = "coroutine", line.tracks.get(key)
            line.tracks[key] = (kind, event["name"], int(event["name"].rsplit(" ", 1)[1]), event["pid"])
            need(not known or known == line.tracks[key], event)
        open_slices[key].append((event["name"], ns, event["args"]))
    elif event["ph"] == "e":
        name, since, args = open_slices[key].pop()
        equal(name, event["name"], "which one ends")
        if open_slices[key]:
            line.slices.append(Slice(key, name, since, ns, args))
    else:
        line.marks.append(Mark(key, event["name"], ns, event["args"], []))


def chrome(path):
    """As above; asynchronous slices are those of coroutines, X those of threads."""
    line = Timeline()
    whole = json.loads(path.read_text(), parse_float=decimal.Decimal)
    open_slices = collections.defaultdict(list)
    for event in whole["traceEvents"]:
        need(all(k in event for k in ("ph", "cat", "name", "pid", "tid", "ts", "args")), event)
        phase, track = event["ph"], (event["pid"], event["tid"])
        if phase == "M":
            kind = "process" if event["name"] == "process_name" else "thread"
            need(event["name"] in ("process_name", "thread_name"), event)
            line.tracks[track if kind == "thread" else event["pid"]] = (kind, event["args"]["name"], event["tid"], event["pid"])
        elif phase == "X":
            since = nanoseconds(event["ts"])
            ends = since + nanoseconds(event["dur"])
            line.slices.append(Slice(track, event["name"], since, ends, event["args"]))
            # what ends where another begins must do so in the doubles of viewers, too
            if float(event["dur"]) != float(decimal.Decimal(ends) / 1000) - float(event["ts"]):
                raise Failed(f"other in the doubles of viewers: {event}")
        elif phase in "ben":
            chrome_async(line, event, open_slices)
        elif phase == "I":
            need(event["s"] in ("t", "p"), event)
            line.marks.append(Mark(track if event["s"] == "t" else event["pid"], event["name"], nanoseconds(event["ts"]), event["args"], []))
        elif phase == "s":
            need(event["id"] not in line.flows, event)
            line.flows[event["id"]] = [nanoseconds(event["ts"]), None, None]
        elif phase == "f":
            equal(event["bp"], "e", "what the flow ends at")
            need(event["id"] in line.flows, event)
            line.flows[event["id"]][1:] = [nanoseconds(event["ts"]), track]
        else:
            raise Failed(f"a phase of none of ours: {event}")
    need(not any(open_slices.values()), "not all asynchronous slices end")
    return line, whole
