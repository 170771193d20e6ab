"""What jobs need to scale aggregates for dropped rows: the shares that drop boxes kept of the rows taken."""

from penstock.network import Edge
from penstock.plan.steps import Aggregate
from penstock.runtime.chunk import Chunk
from penstock.runtime.state import RuntimeState
from penstock.runtime.unit_state import Taken
from penstock.shedding.drop_box import Boxes


def boxes_of_rows(state: RuntimeState, taken: Taken, through: frozenset[Edge]) -> dict[str, Boxes]:
    """Return the shares kept of the rows of each operator that makes scaled partial aggregates."""
    found = {}
    for name in {edge.target for edge in (*taken, *through)}:
        step = state.plan.steps[name]
        if not isinstance(step, Aggregate):
            continue
        if any(call.scaled for call in step.wanted_calls(state.wanted_at(name))):
            stream, chunks = _rows_below(state, name, taken)
            if chunks:
                first = min(chunk.first_sequences[0] for chunk in chunks)
                found[name] = state.streams[stream].box.since(first)
    return found


def _rows_below(state: RuntimeState, name: str, taken: Taken) -> tuple[str, list[Chunk]]:
    """Return the stream below an operator, and the chunks taken on the way."""
    chunks: list[Chunk] = []
    while name not in state.streams:
        [edge] = state.plan.network.in_edges[name]
        chunks += taken.get(edge, ())
        name = edge.source
    return name, chunks
