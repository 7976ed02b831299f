"""What a calibration says of a stage: its service times without the link."""

from rockdove.capacity.error import Untold
from rockdove.capacity.fit.family import fit
from rockdove.capacity.fit.histogram import Histogram
from rockdove.capacity.plan.calibration import Stage

# Traces have microseconds: a mean below this is what rounding leaves of 0.
_NOTHING_S = 1e-12


def stage(measured: Histogram, link_s: float, what: str) -> Stage:
    """`what` took the time, in the plural. One crossing of the link is taken out of each.

    Raises `Untold` if that leaves nothing.
    """
    if measured.mean < _NOTHING_S:
        raise Untold(f"{what}: all of them took 0 s by these traces, which tells no rate")
    times = measured.less(link_s)
    if times.mean < _NOTHING_S:
        raise Untold(
            f"{what}: the link, {link_s:.4g} s on average, is longer than each of them, so that nothing is left of "
            "their times; calibrate by the traces of one side, the service's or the clients'"
        )
    found = fit(times)
    return Stage(
        rate=times.mean_estimate.inverse(),
        scv=times.scv_estimate,
        family=found.family,
        phases=found.phases,
        distances=found.distances,
        mean_s=times.mean_estimate,
        p50_s=times.quantile(0.5),
        p95_s=times.quantile(0.95),
        p99_s=times.quantile(0.99),
        services=times.number,
    )
