"""From a stream's kind to its source."""

from collections.abc import Callable, Mapping

from penstock.language.statements import StreamDef
from penstock.runtime.source import Source
from penstock.spark.sources.files import Files
from penstock.spark.sources.generated import Generated
from penstock.spark.sources.lines import Lines
from penstock.spark.sources.source import SourceContext
from penstock.spark.sources.structured import Structured

SOURCES: Mapping[str, Callable[[StreamDef, SourceContext], Source]] = {
    "bursty": Generated,
    "poisson": Generated,
    "trace": Generated,
    "files": Files,
    "socket": Lines,
    "structured": Structured,
}


def opened_source(stream: StreamDef, context: SourceContext) -> Source:
    """Open the source of a stream; raise `RunError` if it cannot be."""
    return SOURCES[stream.source](stream, context)
