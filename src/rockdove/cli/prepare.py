"""``rockdove prepare``: make what runs on Spark start faster on this machine."""

import time

from rockdove.cli import option
from rockdove.cli.output import Output


def prepare(as_json: option.Json = False) -> None:
    """Make Spark start faster on this machine, from now on.

    Needs rockdove[spark] and Java 17. Spark runs once, on a trace of its own, and Java writes an archive of the
    classes that it has loaded, about 200 MB, to the folder rockdove in ~/.cache, or in $XDG_CACHE_HOME. Commands that
    run Spark on this machine (analyse, calibrate, watch, simulate) use it. After an update of Java or Spark, do it
    again. The file can be removed at any time.

    \b
    Examples:
      rockdove prepare
    """
    from rockdove.spark.archive import make
    from rockdove.spark.session import archive, require

    require("this needs")
    path = archive()
    began = time.monotonic()
    is_there = path.exists()
    make(path)
    output = Output(as_json)
    if output.as_json:
        output.document({"archive": str(path), "bytes": path.stat().st_size, "made": not is_there})
    elif is_there:
        output.line(f"{path} is there already")
    else:
        output.line(f"{path}: {path.stat().st_size / 1e6:.0f} MB, made in {time.monotonic() - began:.0f} s")
