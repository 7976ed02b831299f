"""The paper's algorithm, Figure 2: by the average load alone."""

from rockdove.capacity.scaling.measured import Measured
from rockdove.capacity.scaling.round import Round
from rockdove.capacity.scaling.step import State, Step
from rockdove.core.elastic import Elastic


def paper(elastic: Elastic, state: State, measured: Measured) -> Step:
    """One round.

    What the paper leaves open: what is elected loses its share in equal parts, and is removed when it is empty. Nothing
    is elected, or added, within the safety interval after workers were added or removed.
    """
    average, this = measured.average, Round(elastic, state, measured)
    said = f"average load {average:.0f}"
    if average > elastic.min_load:
        this.cancel(f"{said} is above minLoad {elastic.min_load:g}")
    elif average < elastic.min_load and this.removal is None and this.may_shrink and this.has_settled:
        this.elect(f"{said} is below minLoad {elastic.min_load:g}")
    this.go_on()
    if average > elastic.max_load and this.has_settled:
        this.add(1, f"{said} is above maxLoad {elastic.max_load:g}: one more")
    return this.step()
