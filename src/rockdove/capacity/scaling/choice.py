"""The rules by name."""

from collections.abc import Callable, Mapping

from rockdove.capacity.scaling.measured import Measured
from rockdove.capacity.scaling.model import model
from rockdove.capacity.scaling.paper import paper
from rockdove.capacity.scaling.rules import aws, keda, least_loaded
from rockdove.capacity.scaling.step import State, Step
from rockdove.core.elastic import Elastic, ScalingPolicy

Rule = Callable[[Elastic, State, Measured], Step]

RULES: Mapping[ScalingPolicy, Rule] = {
    ScalingPolicy.PAPER: paper,
    ScalingPolicy.MODEL: model,
    ScalingPolicy.KEDA: keda,
    ScalingPolicy.AWS: aws,
    ScalingPolicy.LEAST_LOADED: least_loaded,
}


def decide(elastic: Elastic, state: State, measured: Measured) -> Step:
    """One round of the controller. Pure: the same in a simulation and against the service."""
    return RULES[elastic.policy](elastic, state, measured)
