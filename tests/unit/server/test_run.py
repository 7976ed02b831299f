"""A process of a service between its start and its end, in a process of its own: signals, and the garbage collector."""

import subprocess
import sys

_SCRIPT = """
import asyncio, os, signal, uvloop
from rockdove.server.run import until_stopped

def reload():
    print("reloaded", flush=True)
    os.kill(os.getpid(), signal.SIGTERM)

async def start():
    # The event loop reads it in the round in which the start ends.
    os.kill(os.getpid(), signal.SIGHUP)
    return reload

async def stop():
    print("stopped")

async def main():
    asyncio.get_running_loop().call_later(10, os.kill, os.getpid(), signal.SIGTERM)
    await until_stopped(start, stop, gives_up={gives_up})

uvloop.run(main())
"""


def test_a_hangup_at_the_end_of_a_start_is_heeded() -> None:
    for gives_up in (False, True):
        script = _SCRIPT.replace("{gives_up}", str(gives_up))
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
        assert (done.stdout, done.stderr, done.returncode) == ("reloaded\nstopped\n", "", 0), gives_up
