"""What the workers of `rockdove bench elastic` and `rockdove demo` do: as long a job as they are told to, and a line in
a file."""

import asyncio
import os
import random

# Where the line goes, how long the job takes, and whether that is the mean of an exponential time.
OUT, WORK_S, RANDOM = "ROCKDOVE_BENCH_OUT", "ROCKDOVE_BENCH_WORK_S", "ROCKDOVE_BENCH_RANDOM"


async def handle(body: str) -> None:
    work_s = float(os.environ[WORK_S])
    await asyncio.sleep(random.expovariate(1 / work_s) if os.environ.get(RANDOM) and work_s else work_s)
    # One write of a short line to the end of a file is never mixed with another.
    file = os.open(os.environ[OUT], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(file, f"{body}\n".encode())
    finally:
        os.close(file)
