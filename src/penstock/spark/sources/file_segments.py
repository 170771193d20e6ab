"""Files as segments: parquet files as they are, large text files by a job that executors run."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from penstock.errors import RunError
from penstock.language.statements import StreamDef
from penstock.runtime.memory_sizes import row_bytes
from penstock.runtime.rows.segment import Segment
from penstock.spark.shared_files import why_unreadable
from penstock.spark.sources.context import SourceContext
from penstock.spark.sources.parquet_segments import Footer, names_in, segment_of
from penstock.spark.sources.plain_segments import PlainJobError, plain_segments
from penstock.spark.sources.text_segments import TextSegments, text_segments
from penstock.spark.sources.time_units import TimeUnit

_TEXT_ROW_BYTES = 200
"""Bytes of a row in a text file, to estimate their number: below most, as a job to parse them costs more."""


class UnreachableError(RunError):
    """Executors cannot read the files of a stream, and its rows must stay there."""


class FileSegments:
    """Returns files of a stream as segments, where the rows are many."""

    def __init__(
        self, stream: StreamDef, context: SourceContext, format_name: str, unit: TimeUnit, *, owned: bool = False
    ) -> None:
        self._owned = owned
        """Whether parquet files are Penstock's own, and go when nothing needs them any more."""
        self._stream = stream
        self._context = context
        self._format = format_name
        self._unit = unit
        self._is_reachable: bool | None = None
        """Whether executors can read the files; unknown before the first."""
        self._parses_plain = True
        """Whether no job that parses plain text has failed."""
        self.names: dict[str, str] = {}
        """The column of the last files for each declared column."""

    def of_parquet(self, footers: Mapping[Path, Footer]) -> tuple[Segment, ...]:
        """Return parquet files as segments; none if their rows should be or must be read in the driver."""
        rows = sum(footer.rows for footer in footers.values())
        if not rows or not self._stores(rows, next(iter(footers))):
            return ()
        names = names_in(next(iter(footers.values())), self._stream.columns)
        if names is None or any(":" in str(path) for path in footers):
            return ()  # a value may need a cast that fails; Spark's file systems cannot open names with colons
        self.names = names
        return tuple(
            segment_of(path, footer, self._stream, names, owned=self._owned)
            for path, footer in footers.items()
            if footer.rows
        )

    def _stores(self, rows: int, path: Path, *, parsed: bool = False) -> bool:
        """Whether rows stay in their files; raise if they must, and executors cannot read them."""
        places = self._context.places
        if not places.stores(rows, row_bytes(self._stream), parsed=parsed) or self._is_reachable is False:
            return False
        if self._is_reachable is None:
            reason = why_unreadable(self._context.spark, path)
            self._is_reachable = reason is None
            if reason is not None:
                what = f"stream {self._stream.name}: executors cannot read {path}: {reason}"
                if places.is_forced:
                    raise UnreachableError(f"{what}; rows = 'stored' needs files that all machines see")
                self._context.tell(f"{what}; its rows pass through the driver")
        return self._is_reachable

    def _stores_text(self, path: Path) -> bool:
        return self._stores(path.stat().st_size // _TEXT_ROW_BYTES, path, parsed=True)

    def of_plain_text(self, paths: Sequence[Path]) -> dict[Path, tuple[Segment, ...]]:
        """Return those text files as segments that one job can parse quickly; all have one layout."""
        if not self._parses_plain:
            return {}
        stream, context = self._stream, self._context
        try:
            large = [path for path in paths if self._stores_text(path)]
            folder = context.texts
            found = plain_segments(context.spark, large, self._format, stream, folder) if large else {}
        except UnreachableError:
            raise
        except PlainJobError:
            self._parses_plain = False
            return {}
        except (RunError, OSError):  # reading the files otherwise will show what is wrong
            return {}
        return {path: self._of_parts(segments) for path, segments in found.items() if segments.rows}

    def of_text(self, path: Path) -> tuple[Segment, ...]:
        """Return a text file as segments; none if the driver should or must read it."""
        stream, context = self._stream, self._context
        try:
            if not self._stores_text(path):
                return ()
            folder = context.texts
            folder.mkdir(parents=True, exist_ok=True)
            found = text_segments(context.spark, path, self._format, stream, folder)
        except UnreachableError:
            raise
        except (RunError, OSError):  # reading the file in the driver will show what is wrong
            return ()
        if found is None or not found.rows:
            return ()
        return self._of_parts(found)

    def _of_parts(self, found: TextSegments) -> tuple[Segment, ...]:
        """Return what was written for a text file as segments, and report the unit of its times."""
        self._unit.report(found.units)
        self.names = names = {column.name: column.name for column in self._stream.columns}
        has_bad = found.malformed > 0
        parts = [part.path for part in found.files if part.rows]
        return tuple(
            segment_of(part, Footer.of(part), self._stream, names, has_bad=has_bad, owned=True) for part in parts
        )
