"""`Script`: a parsed and checked SQL file."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unicodedata import normalize

from penstock.errors import ScriptError, nearest
from penstock.language.derived import derived_streams, read_by, reads
from penstock.language.names import name_key
from penstock.language.parse_statements import parsed_statement
from penstock.language.statements import Drop, QueryDef, Relation, Setting, Statement, StreamDef, TableDef
from penstock.language.text import Text
from penstock.language.tokens import LARGEST_SCRIPT, statements


@dataclass(frozen=True)
class Script:
    """Streams, tables, continuous queries and settings, as one SQL file declares them.

    >>> script = Script.parse('''
    ...     CREATE STREAM packets (src STRING, bytes INT) FROM poisson WITH (rate = 100, rows = 500);
    ...     CREATE QUERY big AS SELECT src, bytes FROM packets WHERE bytes > 1200;
    ...     SET policy = 'hnr';
    ... ''')
    >>> list(script.queries), script.settings
    (['big'], {'policy': 'hnr'})
    """

    streams: Mapping[str, StreamDef] = field(default_factory=dict)
    tables: Mapping[str, TableDef] = field(default_factory=dict)
    queries: Mapping[str, QueryDef] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = "script"
    folder: Path = Path()
    """The folder to which relative paths in the script refer."""
    text: str = field(default="", compare=False, repr=False)
    """The text from which it was parsed."""

    @classmethod
    def parse(cls, text: str, name: str = "script", folder: str | Path = "") -> "Script":
        """Read a script from a string; raise `ScriptError` with line, column and caret where it is wrong."""
        script = cls(name=name, folder=Path(folder), text=text)
        return script.with_statements(script.read_statements(text))

    @classmethod
    def read(cls, path: str | Path) -> "Script":
        """Read a script from a file."""
        path = Path(path)
        try:
            with path.open("rb") as file:
                data = file.read(4 * LARGEST_SCRIPT + 1)
        except IsADirectoryError as error:
            raise ScriptError(f"{path}: this is a folder; a script is one file") from error
        except (OSError, ValueError) as error:  # the second if the name contains a NUL
            reason = error.strerror if isinstance(error, OSError) else error
            raise ScriptError(f"{path}: cannot be read: {reason}") from error
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ScriptError(f"{path}: this is not UTF-8 text (byte {error.start}). Is it a script?") from error
        return cls.parse(text, str(path), path.parent)

    @property
    def relations(self) -> dict[str, Relation]:
        """Streams and tables by `name_key`."""
        return {name_key(name): each for name, each in (*self.streams.items(), *self.tables.items())}

    @property
    def sources(self) -> dict[str, StreamDef]:
        """The streams that are not derived."""
        return {name: stream for name, stream in self.streams.items() if not stream.is_derived}

    @property
    def derived(self) -> dict[str, StreamDef]:
        """The derived streams, those of subqueries, WITH and UNION included: each after those that it reads."""
        read = (*self.streams.values(), *read_by(self.queries.values()))
        return {stream.name: stream for stream in derived_streams(read)}

    def read_statements(self, text: str) -> Iterator[Statement]:
        """Read more statements, which may use what is already declared."""
        source = Text(text.removeprefix("\ufeff"), self.name)
        relations = self.relations
        queries = {name_key(name): query for name, query in self.queries.items()}
        folders = {folded(name): name for name in self.queries}
        for tokens in statements(source):
            statement = parsed_statement(tokens, relations)
            if isinstance(statement, StreamDef | TableDef):
                if name_key(statement.name) in relations:
                    source.fail(f"there is already a stream or table {statement.name!r}", statement.span)
                relations[name_key(statement.name)] = statement
            elif isinstance(statement, QueryDef):
                if name_key(statement.name) in queries:
                    source.fail(f"there is already a query {statement.name!r}", statement.span)
                _check_folder(statement, folders, source)
                queries[name_key(statement.name)] = statement
                folders[folded(statement.name)] = statement.name
            elif isinstance(statement, Drop) and statement.what == "stream":
                _check_unread(statement, relations, queries.values(), source)
                del relations[name_key(statement.name)]
            elif isinstance(statement, Drop):
                if name_key(statement.name) not in queries:
                    hint = nearest(name_key(statement.name), queries)
                    source.fail(f"there is no query {statement.name!r} to drop.{hint}", statement.span)
                del queries[name_key(statement.name)]
                folders.pop(folded(statement.name), None)
            yield statement

    def with_statements(self, more: Iterable[Statement]) -> "Script":
        """Return the script with more statements applied."""
        streams, tables = dict(self.streams), dict(self.tables)
        queries, settings = dict(self.queries), dict(self.settings)
        for statement in more:
            match statement:
                case StreamDef():
                    streams[statement.name] = statement
                case TableDef():
                    tables[statement.name] = statement
                case QueryDef():
                    queries[statement.name] = statement
                case Setting():
                    settings[statement.name] = statement.value
                case Drop(what="stream"):
                    del streams[_spelled(statement.name, streams)]
                case Drop():
                    del queries[_spelled(statement.name, queries)]
        return replace(self, streams=streams, tables=tables, queries=queries, settings=settings)


def folded(name: str) -> str:
    """Return a name as file systems that ignore case compare it: equal ones would share a folder.

    >>> folded("Straße") == folded("STRASSE"), folded("a") == folded("b")
    (True, False)
    """
    return normalize("NFD", normalize("NFD", name).casefold())


def _spelled(name: str, names: Iterable[str]) -> str:
    """Return a name as it was declared."""
    return next(each for each in names if name_key(each) == name_key(name))


def _check_unread(
    drop: Drop, relations: Mapping[str, Relation], queries: Iterable[QueryDef], source: Text
) -> None:
    """Reject DROP STREAM unless nothing reads the stream, and it is derived."""
    stream = relations.get(name_key(drop.name))
    derived = [each for each in relations.values() if isinstance(each, StreamDef) and each.is_derived]
    if stream is None:
        hint = nearest(name_key(drop.name), [name_key(each.name) for each in derived])
        source.fail(f"there is no stream {drop.name!r} to drop.{hint}", drop.span)
    if not (isinstance(stream, StreamDef) and stream.is_derived):
        kind = "has rows of its own" if isinstance(stream, StreamDef) else "is a stored table"
        source.fail(f"{stream.name} {kind}: only derived streams can be dropped", drop.span)
    readers = [
        *(f"query {query.name}" for query in queries if reads((query,), stream.name)),
        *(f"stream {each.name}" for each in derived if reads(each.branches, stream.name)),
    ]
    if readers:
        source.fail(
            f"stream {stream.name} cannot be dropped while it is read: {readers[0]} reads it: drop that first",
            drop.span,
        )


def _check_folder(query: QueryDef, folders: Mapping[str, str], source: Text) -> None:
    """Reject a query whose results could not have a folder of their own."""
    if query.name.startswith("_"):
        message = (
            "the name of a query must not begin with _: its results have a folder of that name, and Penstock uses "
            "folders with _ itself"
        )
        source.fail(message, query.span)
    other = folders.get(folded(query.name))
    if other is not None:
        source.fail(
            f"query {query.name!r} would share the folder of query {other!r} on file systems that ignore case: "
            "give it another name",
            query.span,
        )
