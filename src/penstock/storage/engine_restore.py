"""An engine as it was: its plan, streams, queues and logs, from the image of a run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from penstock.language.script import Script
from penstock.language.statements import QueryDef, StreamDef
from penstock.runtime.change import Change
from penstock.runtime.chunk import Chunk, Place
from penstock.runtime.engine import Engine
from penstock.runtime.recorder import CountedResults
from penstock.runtime.rows.resident import ResidentRows
from penstock.runtime.rows.stored import StoredRows
from penstock.storage.documents import StateError
from penstock.storage.engine_record import key_of, lost_file, plan_checksum
from penstock.storage.image import Image
from penstock.storage.places import restored
from penstock.storage.row_log import RowsAt, read_rows

Json = dict[str, Any]


@dataclass
class RestoredRows:
    """The chunks that were read back, and the checksums of files of ours."""

    chunks: dict[int, Json] = field(default_factory=dict)
    checksums: dict[Path, int] = field(default_factory=dict)


def script_after(base: Script, image: Image) -> tuple[Script, list[Change], dict[str, QueryDef]]:
    """Return the script with what was changed while it ran, the changes, and the queries that were created."""
    changes = [Change(**each) for each in image.engine["changes"]]
    created: dict[str, QueryDef] = {}
    makers = [change for change in changes if change.kind == "create"]
    text = "\n".join(change.statement for change in changes if change.statement is not None)
    statements = list(base.read_statements(text))
    queries = [each for each in statements if isinstance(each, QueryDef)]
    for change, query in zip(makers, queries, strict=True):
        created[change.key] = query
    script = base.with_statements(statements)
    settings = {change.name: change.value for change in changes if change.kind == "set"}
    return replace(script, settings={**script.settings, **settings}), changes, created


def check_plan(engine: Engine, image: Image) -> None:
    """Raise if the plan of the same queries is another one now: then queues would have other rows."""
    if image.engine["plan"] != plan_checksum(engine):
        raise StateError(
            "this version of Penstock plans the queries of the state in another way than version "
            f"{image.run.get('version')}, which wrote it: let the run drain with that version, and begin a new one"
        )


def restore_rows(
    engine: Engine, image: Image, folder: Path, on_read: Callable[[int, int], object]
) -> RestoredRows:
    """Fill the streams, queues and logs of an engine. `on_read` is told how many chunks of all are read."""
    state = engine.state
    definitions = {name: log.definition for name, log in state.streams.items()}
    for name, about in image.engine["streams"].items():
        if name in state.streams:
            _restore_stream(engine, name, about, image.engine["marks"].get(name, ((), ())))
    found = RestoredRows({each["n"]: each for each in image.engine["chunks"]})
    needed = _needed(engine, image)
    chunks: dict[int, Chunk] = {}
    for number in sorted(needed & found.chunks.keys()):
        about = found.chunks[number]
        chunks[number] = Chunk(_place(about, definitions, folder, found), number, about.get("pos", 0))
        on_read(len(chunks), len(needed))
    by_source: dict[str, list[Chunk]] = {}
    for number, chunk in chunks.items():
        by_source.setdefault(found.chunks[number]["source"], []).append(chunk)
    cursors, queues = image.engine["cursors"], image.engine["queues"]
    for edge, queue in state.queues.items():
        if edge.source in state.streams:
            number, first = cursors.get(key_of(edge), (image.engine["chunk"] + 1, 0))
            waiting = [
                (chunk, first if chunk.number == number else 0)
                for chunk in by_source.get(edge.source, ())
                if chunk.number >= number
            ]
        else:
            waiting = [(chunks[number], first) for number, first in queues.get(key_of(edge), ())]
        for chunk, first in waiting:
            queue.put(chunk.cut(first - chunk.place.first)[1] if first > chunk.place.first else chunk)
    for name, log in state.streams.items():
        if name in state.windows:
            log.chunks = _log(image, name, chunks, by_source.get(name, []), definitions, folder, found)
    for name, numbers in image.engine["panes"].items():
        if name in state.panes:
            state.panes[name].chunks = [chunks[number] for number in numbers]
    state.closed |= {name: end for name, end in image.engine["closed"].items() if name in state.closed}
    state.chunks = image.engine["chunk"]
    lost = {segment for segment in state.segments() if lost_file(segment) in image.engine["lost"]}
    state.remove_files(lost)
    state.lost |= lost
    found.chunks = {number: found.chunks[number] for number in chunks}
    return found


def _restore_stream(engine: Engine, name: str, about: Json, marks: Sequence[Sequence[int]]) -> None:
    log = engine.state.streams[name]
    log.next_sequence, log.newest, log.oldest = about["next"], about["newest"], about["oldest"]
    log.source_watermark = about["watermark"]
    log.box.history[:] = [(sequence, share) for sequence, share in about["box"]]
    log.box.dropped = about["dropped"]
    engine.recorder.restore_stream(name, about["counts"])
    log.kept = about.get("kept", 0)
    if about.get("rows") is not None:
        log.restore_row_times(*about["rows"], *marks)


def _needed(engine: Engine, image: Image) -> set[int]:
    """Return the numbers of the chunks that queues or logs have."""
    found: set[int] = set()
    sources: dict[str, list[int]] = {}
    for each in image.engine["chunks"]:
        sources.setdefault(each["source"], []).append(each["n"])
    for edge in engine.state.queues:
        if edge.source in engine.state.streams:
            first = image.engine["cursors"].get(key_of(edge), (image.engine["chunk"] + 1, 0))[0]
            found.update(number for number in sources.get(edge.source, ()) if number >= first)
        else:
            found.update(number for number, _ in image.engine["queues"].get(key_of(edge), ()))
    for name in engine.state.windows:
        found.update(image.log_numbers(name))
    for name in engine.state.panes:
        found.update(image.engine["panes"].get(name, ()))
    return found


def _log(
    image: Image,
    stream: str,
    chunks: Mapping[int, Chunk],
    own: list[Chunk],
    definitions: Mapping[str, StreamDef],
    folder: Path,
    found: RestoredRows,
) -> list[Chunk]:
    log: list[Chunk] = []
    for each in image.engine["logs"].get(stream, ()):
        if isinstance(each, int):
            log.append(chunks[each])
        else:
            log.append(Chunk(_place(each, definitions, folder, found), each["n"]))
    return [*log, *(chunk for chunk in own if chunk.number > image.engine["logged"])]


def _place(about: Json, definitions: Mapping[str, StreamDef], folder: Path, found: RestoredRows) -> Place:
    if "at" in about:
        return ResidentRows(read_rows(folder, RowsAt(*about["at"])))
    rows: StoredRows = restored(about["stored"], definitions, folder)
    for file in about["stored"]["files"]:
        if file["owned"]:
            found.checksums[folder / file["path"]] = file["crc"]
    return rows


def restore_statistics(engine: Engine, image: Image) -> None:
    """Continue with the counts, costs and selectivities of an earlier process."""
    for name, snapshot in image.engine["queries"].items():
        if name in engine.recorder.queries:
            engine.recorder.restore_query(name, snapshot)
    for each in image.results:
        results = CountedResults(*each)
        if all(name in engine.recorder.queries for name in results.queries):
            engine.recorder.restore_results(results)
    engine.costs.restore(image.engine["costs"])
