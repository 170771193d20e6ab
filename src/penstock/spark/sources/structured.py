"""Any source of Structured Streaming: a stock query writes its batches to a folder, which the stream reads."""

import contextlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.errors import RunError
from penstock.language.statements import StreamDef
from penstock.spark.job_errors import explained
from penstock.spark.sources.context import SourceContext
from penstock.spark.sources.files import FileSource

_OWN = ("format", "landing", "timestamp", "lateness", "idle")


class StructuredSource(FileSource):
    """Rows of a Structured Streaming source, through ``landing/batch=ID``.

    Without the option `landing`, batches are removed when nothing needs them any more. The newest stays: Spark may
    make it again after a crash, and it is then known that it was read.
    """

    def __init__(
        self, stream: StreamDef, context: SourceContext, position: Mapping[str, Any] | None = None
    ) -> None:
        own = stream.options.get("landing") is None
        self._landing = Path(
            context.landings / f"landing-{stream.name}" if own else stream.options["landing"]
        ).absolute()
        self._landing.mkdir(parents=True, exist_ok=True)
        self._owns_landing = own
        self._spent: list[Path] = []
        """Files of our own that were read as rows since the position was last asked for."""
        self._committed: list[Path] = []
        """Those that were read before: the position after them is committed."""
        super().__init__(stream, context, position, self._landing, owned=own)
        self._clear_read(context)
        options = {name: str(value) for name, value in stream.options.items() if name not in _OWN}
        landing, time, survives = str(self._landing), stream.timestamp, context.keeps is not None

        def land(batch: DataFrame, number: int) -> None:
            """Write a batch as one file, sorted by time if rows have one: a batch itself has no order."""
            folder = f"{landing}/batch={number:020d}"
            if not os.path.exists(f"{folder}/_SUCCESS"):  # else it was written before a crash, and perhaps read
                rows = batch.coalesce(1) if time is None else batch.coalesce(1).sortWithinPartitions(time)
                rows.write.mode("overwrite").parquet(folder)
            if not survives:
                return
            # Spark takes the batch for read after this, and flushes none of it
            offsets = f"{landing}/_checkpoint/offsets"
            files = [entry.path for entry in os.scandir(folder) if entry.is_file()]
            for path in (*files, folder, f"{offsets}/{number}", offsets, f"{landing}/_checkpoint", landing):
                handle = os.open(path, os.O_RDONLY)
                os.fsync(handle)
                os.close(handle)

        try:
            frame = context.spark.readStream.format(stream.options["format"]).options(**options).load()
            columns = [F.col(f"`{column.name}`") for column in stream.columns]
            writer = (
                frame.select(*columns)
                .writeStream.foreachBatch(land)
                .option("checkpointLocation", f"{landing}/_checkpoint")
            )
            only_what_is_there = context.drain and context.seconds is None
            self._query = (writer.trigger(availableNow=True) if only_what_is_there else writer).start()
        except PySparkException as error:
            raise RunError(f"stream {stream.name}: {explained(error)}") from error

    def _new_files(self) -> list[Path]:
        batches = sorted(folder for folder in self._landing.glob("batch=*") if (folder / "_SUCCESS").exists())
        if self._owns_landing:
            self._remove_empty(batches[:-1])
        new = [folder for folder in batches if folder.name not in self._seen]
        self._seen.update(folder.name for folder in new)
        return [path for folder in new for path in sorted(folder.glob("*.parquet"))]

    def _name_of(self, path: Path) -> str:
        return path.parent.name

    # Batches that are not needed any more ---------------------------------------------------------------------

    def position(self, *, whole: bool) -> dict[str, Any]:
        """Return the names of the batches that were read. Files read before the last call are removed."""
        for path in self._committed:
            path.unlink(missing_ok=True)
        self._committed, self._spent = self._spent, []
        return super().position(whole=whole)

    def _finish_group(self) -> None:
        if self._owns_landing and not self._group_stays:
            self._spent += self._group
        super()._finish_group()

    def _clear_read(self, context: SourceContext) -> None:
        """Remove the files that an earlier process read and that nothing needs: it may have died before."""
        if not self._owns_landing or context.keeps is None:
            return
        needed = {context.keeps.absolute() / name for name in context.needed}
        needed.update(self._group)
        for name in self._seen:
            for path in (self._landing / name).glob("*.parquet"):
                if path not in needed:
                    path.unlink()

    def _remove_empty(self, batches: Sequence[Path]) -> None:
        """Remove the folders of batches of which all files are gone."""
        for folder in batches:
            if folder.name in self._seen and not any(folder.glob("*.parquet")):
                shutil.rmtree(folder, ignore_errors=True)
                self._seen.discard(folder.name)

    def _at_end(self) -> bool:
        """Whether the stock query has ended and all its batches were read."""
        if self._query.isActive:
            return False
        error = self._query.exception()
        if error is not None:
            raise RunError(f"stream {self._stream.name}: its source failed: {explained(error)}")
        self._next_listing = (
            0.0  # a batch is finished by a file in its own folder, which does not change this folder
        )
        self._list()
        return not self._waiting

    def stop(self, now_us: int) -> None:
        """Stop the stock query; the batches that it wrote can still be read."""
        self._query.stop()

    def close(self) -> None:
        """Stop the stock query, if Spark still answers."""
        with contextlib.suppress(Exception):
            self._query.stop()
