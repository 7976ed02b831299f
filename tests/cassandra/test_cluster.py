"""A setting of the paper's figures on the node that is there: services that are killed and started again."""

import random
from pathlib import Path

from msgspec.structs import replace

from rockdove.workload.cluster import Killer, LocalCluster
from rockdove.workload.figures import UntilDrain, run_setting, settings
from rockdove.workload.interrupt import Interrupt
from tests.support.cassandra import JARS, node


class Silent:
    """See `rockdove.workload.run.Watcher`."""

    def say(self, text: str) -> None: ...

    def begin(self, title: str, workload: object) -> None: ...

    def look(self, board: object) -> None: ...

    def drain(self, missing: int) -> None: ...

    def end(self) -> None: ...


def test_front_ends_are_killed_and_nothing_is_lost(tmp_path: Path) -> None:
    cluster = LocalCluster(tmp_path, JARS, 0)
    cluster.nodes = [node()]
    setting = next(each for each in settings("fig8", 0.3) if each.consistency == "quorum")
    setting = replace(setting, front_ends=2, mttf_s=None)
    with cluster.serving(setting.front_ends, setting.consistency) as fronts:
        killer = Killer(fronts, 6.0, 0.5, random.Random(3))
        watcher = UntilDrain(Silent(), killer)
        killer.start()
        try:
            result = run_setting(setting, cluster, fronts, tmp_path / "trace", random.Random(1), watcher, Interrupt())
        finally:
            killer.end()
    assert killer.killed > 0
    assert result.row.sent == setting.workload.total
    assert result.row.lost == 0
