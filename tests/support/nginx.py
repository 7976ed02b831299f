"""A real nginx in front of a server, with its configuration and files in a folder of its own."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.support.port import free_port, is_listening
from tests.support.process import Process

# One process, in the foreground, under the user that runs the tests: it can read the test's folder, and ends by its id.
_CONFIGURATION = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    client_max_body_size 4m;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass {upstream};
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            {headers}
        }}
    }}
}}
"""
_START_TIMEOUT_S = 10


def start_nginx(folder: Path, upstream: str, headers: Mapping[str, str]) -> tuple[Process, int]:
    """Starts it as a proxy that sets these request headers; gives the process and its port."""
    # Debian keeps it where only root's PATH looks.
    program = shutil.which("nginx", path=os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/usr/local/sbin"]))
    assert program is not None, "no nginx: `make test-clients` installs it, or names the command"
    port = free_port()
    lines = "\n            ".join(f"proxy_set_header {name} {value};" for name, value in headers.items())
    folder.mkdir(parents=True, exist_ok=True)
    configuration = folder / "nginx.conf"
    configuration.write_text(_CONFIGURATION.format(folder=folder, port=port, upstream=upstream, headers=lines))
    command = [program, "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(configuration)]
    process = Process(command, folder, "nginx")
    process.wait_for(lambda: is_listening(port), "open port", _START_TIMEOUT_S)
    return process, port
