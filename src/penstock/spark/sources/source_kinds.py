"""The source class of each kind of stream."""

from collections.abc import Callable, Mapping
from typing import Any

from penstock.language.statements import StreamDef
from penstock.runtime.source import Source
from penstock.spark.sources.context import SourceContext
from penstock.spark.sources.files import FileSource
from penstock.spark.sources.generated import GeneratedSource
from penstock.spark.sources.socket import SocketSource
from penstock.spark.sources.structured import StructuredSource

SOURCES: Mapping[str, Callable[[StreamDef, SourceContext, Mapping[str, Any] | None], Source]] = {
    "bursty": GeneratedSource,
    "poisson": GeneratedSource,
    "trace": GeneratedSource,
    "files": FileSource,
    "socket": SocketSource,
    "structured": StructuredSource,
}


def opened_source(stream: StreamDef, context: SourceContext, position: Mapping[str, Any] | None = None) -> Source:
    """Open the source of a stream, at a position if it goes on; raise `RunError` if that is impossible."""
    return SOURCES[stream.source](stream, context, position)
