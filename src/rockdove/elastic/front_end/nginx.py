"""nginx as the dispatcher: its configuration, and the process, which outlives the controller."""

import asyncio
import os
import re
import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from rockdove.elastic.front_end.base import FrontEndError
from rockdove.elastic.front_end.hold import command
from rockdove.elastic.provision.spawn import spawn
from rockdove.elastic.worker.report import lives, read

# Seconds for it to begin, and to take another configuration.
START_S, RELOAD_S = 10.0, 10.0
_LOOK_S = 0.02
# Of /proc/ID/stat, after the name.
_PARENT, _SESSION = 1, 3

# Bodies stay in memory: nginx may run under a user that cannot write here.
#
# A connection of a client ends with its answer. A reload closes those that are idle, and a client that begins a request
# on one at that moment would see it fail; nginx has keepalive_min_timeout against that, but not before 1.27.4.
#
# A request is given to another front-end if no connection could be made, and never once it was sent: it may have been
# done. nginx holds that for POST by itself, but would send a GET again, and a GET may change something, too.
_CONFIGURATION = """\
# Written by rockdove autoscale --front-ends, over and over.
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.error.log warn;
worker_processes auto;
worker_rlimit_nofile 16384;
events {{
    worker_connections 8192;
}}
http {{
    access_log off;
    server_tokens off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    client_max_body_size 8m;
    client_body_buffer_size 8m;
    proxy_max_temp_file_size 0;
    keepalive_timeout 0;
    map $host $is_own_name {{
        default 0;
        "" 1;
        "~^(\\[[0-9a-f:.]+\\]|[0-9]+(\\.[0-9]+){{3}}|([a-z0-9_-]+\\.)*localhost)$" 1;
{names}    }}
    map $http_x_forwarded_proto $proto {{
        default $scheme;
        https https;
    }}
    upstream front_ends {{
        zone front_ends 256k;
        least_conn;
{servers}        keepalive 64;
    }}
    server {{
        listen {listen};
        proxy_http_version 1.1;
        proxy_set_header Host $http_host;
        proxy_set_header Connection "";
        proxy_set_header X-Forwarded-Proto $proto;
        proxy_set_header X-Forwarded-Host $http_host;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        proxy_connect_timeout 2s;
        proxy_read_timeout 60s;
        error_page 418 = @get;
        location / {{
            if ($is_own_name = 0) {{
                return 403 "The service does not answer under this name; --allow-host NAME allows it.\\n";
            }}
            if ($request_method != POST) {{
                return 418;
            }}
            proxy_next_upstream error timeout;
            proxy_pass http://front_ends;
        }}
        location @get {{
            proxy_next_upstream off;
            proxy_pass http://front_ends;
        }}
    }}
}}
"""
_NAME = re.compile(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?")


def configuration(folder: Path, listen: str, urls: Sequence[str], names: Sequence[str] = ()) -> str:
    """``names``: under which clients may call the service, besides addresses and localhost."""
    servers = "".join(f"        server {urlsplit(url).netloc} max_fails=0;\n" for url in urls)
    known = "".join(f'        "{name}" 1;\n' for name in names)
    return _CONFIGURATION.format(folder=folder, listen=listen, servers=servers, names=known)


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


class Nginx:
    """``host``, ``port``: where it listens."""

    def __init__(self, folder: Path, host: str, port: int, names: Sequence[str] = ()) -> None:
        """Raises `FrontEndError`."""
        # Debian keeps it where only root's PATH looks.
        places = [os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin"]
        program = shutil.which("nginx", path=os.pathsep.join(places))
        if program is None:
            raise FrontEndError("there is no nginx: install it, as with apt-get install nginx-light")
        self._program = program
        self._folder = folder.absolute()
        if re.search(r"[\s;{}\"'$\\]", str(self._folder)):
            raise FrontEndError(f"nginx cannot have {self._folder}: choose a --folder without blanks and quotes")
        self._host, self._port = host, port
        self._names = names
        self._report = self._folder / "nginx.json"
        self._file = self._folder / "nginx.conf"
        # The configuration that is certainly in force.
        self._in_force: str | None = None

    async def route(self, urls: Sequence[str]) -> frozenset[int]:
        listen = f"[{self._host}]:{self._port}" if ":" in self._host else f"{self._host}:{self._port}"
        text = configuration(self._folder, listen, urls, self._names)
        master = self._master()
        if master is not None and self._in_force == text:
            return frozenset()
        self._in_force = None
        self._write(text)
        if master is None:
            await self._start()
            self._in_force = text
            return frozenset()
        before = _children(master)
        os.kill(master, signal.SIGHUP)
        await self._until(lambda: bool(_children(master) - before), RELOAD_S, "has not taken its new configuration")
        self._in_force = text
        return before

    def still(self, processes: frozenset[int]) -> bool:
        master = self._master()
        return master is not None and bool(_children(master) & processes)

    async def stop(self) -> None:
        master = self._master()
        if master is not None:
            os.kill(master, signal.SIGQUIT)
        while self._master() is not None:
            await asyncio.sleep(_LOOK_S)
        await self._end_orphans()

    def _write(self, text: str) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(text)
        new.rename(self._file)

    async def _start(self) -> None:
        await self._end_orphans()
        words = [self._program, "-p", str(self._folder), "-e", str(self._folder / "nginx.error.log")]
        (self._folder / "nginx.error.log").unlink(missing_ok=True)
        child = spawn(command(self._report, 0, [*words, "-c", str(self._file)]), self._folder / "nginx.log")

        def has_ended() -> bool:
            try:
                return os.waitpid(child, os.WNOHANG)[0] != 0
            except ChildProcessError:
                return True

        # Its workers are there once it has its port.
        await self._until(lambda: has_ended() or self._works(), START_S, "has not begun")
        if has_ended():
            raise FrontEndError(f"nginx has ended: {self._last_words()}")

    async def _end_orphans(self) -> None:
        """If it was killed, its processes live on, keep its port, and hold the lock."""
        report, is_held = read(self._report)
        if report is None or not is_held:
            return
        for process in _processes(_SESSION, report.pid):
            os.kill(process, signal.SIGTERM)
        await self._until(lambda: not read(self._report)[1], START_S, "was killed, and its processes do not end")

    def _works(self) -> bool:
        master = self._master()
        return master is not None and bool(_children(master))

    async def _until(self, holds: Callable[[], bool], seconds: float, what: str) -> None:
        loop = asyncio.get_running_loop()
        end_s = loop.time() + seconds
        while not holds():
            if loop.time() > end_s:
                raise FrontEndError(f"nginx {what}: {self._last_words()}")
            await asyncio.sleep(_LOOK_S)

    def _last_words(self) -> str:
        for name in ("nginx.error.log", "nginx.log"):
            try:
                lines = (self._folder / name).read_text(errors="replace").split("\n")
            except OSError:
                continue
            # Why it cannot go on, or what it has said last.
            told = [line for line in lines if "[emerg]" in line][:1] or [line for line in lines if line][-1:]
            if told:
                return told[0]
        return f"see {self._folder}"

    def _master(self) -> int | None:
        """Its process id, if it lives."""
        report, is_held = read(self._report)
        # Its workers may have outlived it.
        return report.pid if report is not None and is_held and lives(report.pid) else None


def _children(parent: int) -> frozenset[int]:
    return _processes(_PARENT, parent)


def _processes(field: int, value: int) -> frozenset[int]:
    """Those with that in `/proc/ID/stat`; those that have ended are left out."""
    found = set()
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if fields[field] == str(value) and fields[0] != "Z":
            found.add(int(place.parent.name))
    return frozenset(found)
