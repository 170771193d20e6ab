"""Load shedding: the load model, the shares to keep, the controller and the drop boxes."""

from penstock.shedding.controller import SheddingRules
from penstock.shedding.drop_box import DropBox
from penstock.shedding.keep_shares import Load, best_kept, shed_probes
from penstock.shedding.several_queries import QueryPlan, SharedPlan, shed_together

__all__ = [
    "DropBox",
    "Load",
    "QueryPlan",
    "SharedPlan",
    "SheddingRules",
    "best_kept",
    "shed_probes",
    "shed_together",
]
