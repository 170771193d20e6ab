"""The running engine as what-if runs see it: network, costs, queues, and the chunks that are admitted."""

from collections.abc import Mapping

from penstock.network import Edge
from penstock.policies import Service
from penstock.qos.model_inputs import ModelInputs
from penstock.qos.what_if import ArrivedRows, WhatIf
from penstock.runtime.engine import Engine
from penstock.runtime.job_rows import LONGEST_TRAIN
from penstock.runtime.unit_state import MOST_ROWS


class EngineView:
    """Reads an engine for what-if runs, and writes nothing."""

    def __init__(
        self, engine: Engine, service: Service, quantum_s: float, in_flight: int, memory: int | None = None
    ) -> None:
        self._engine = engine
        self._service, self._quantum_s, self._in_flight, self._memory = service, quantum_s, in_flight, memory

    @property
    def is_measured(self) -> bool:
        """Whether the costs of jobs are known."""
        return self._engine.costs.is_measured

    @property
    def queues(self) -> int:
        """How many queues there are."""
        return len(self._engine.queues)

    @property
    def queries(self) -> tuple[str, ...]:
        """The queries of the network."""
        return tuple(query.name for query in self._engine.plan.network.queries)

    @property
    def weights(self) -> Mapping[str, float]:
        """The weights by which results count."""
        return self._engine.recorder.weights

    def inputs(self) -> ModelInputs:
        """Return network, costs and settings as they are now."""
        costs, network = self._engine.costs, self._engine.weighed_network()
        return ModelInputs(
            network=network,
            setup_s=costs.setup_s,
            unit_s=costs.unit_s,
            window_row_s=costs.window_row_s,
            pace=costs.pace,
            ideals={query.name: costs.ideal_s(network, query.name) for query in network.queries},
            windows=costs.window_rows,
            service=self._service,
            quantum_s=self._quantum_s,
            longest_train=LONGEST_TRAIN,
            most_rows=MOST_ROWS,
            in_flight=self._in_flight,
            memory=self._memory,
            row_bytes=self._engine.recorder.row_bytes,
            weights={query.name: float(query.weight) for query in network.queries},
        )

    def waiting(self) -> Mapping[Edge, list[ArrivedRows]]:
        """Return what waits at each edge."""
        return {
            edge: [
                ArrivedRows(chunk.rows, chunk.arrival / 1e6, chunk.mean_arrival / 1e6) for chunk in queue.chunks
            ]
            for edge, queue in self._engine.queues.items()
            if queue.chunks
        }


def what_if_beside(
    engine: Engine, service: Service, quantum_s: float, in_flight: int, memory: int | None = None
) -> WhatIf:
    """Return what-if runs beside an engine, told of what it admits."""
    what_if = WhatIf(EngineView(engine, service, quantum_s, in_flight, memory))
    engine.recorder.listen(
        lambda each: what_if.admitted(each.stream, ArrivedRows(each.rows, each.first_s, each.mean_s)),
    )
    return what_if
