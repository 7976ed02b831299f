"""The configuration that the page on nginx shows, in a real nginx; only its address and TLS are left out."""

import http.client
import json
import re
import shutil
from pathlib import Path

import pytest

from tests.docs.need import PATH
from tests.docs.page import page
from tests.support.port import free_port, is_listening
from tests.support.process import Process
from tests.support.server import ServerFactory

# What the page's file is included in on Debian, but for one process under the user that runs the tests.
_AROUND = """
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
    include {folder}/rockdove.conf;
}}
"""


def configuration(upstream: str, port: int) -> str:
    [text] = [block.text for block in page("docs/how-to/nginx.md").blocks() if block.language == "nginx"]
    changes = (
        (r"127\.0\.0\.1:9324", upstream),
        (r"listen 443 ssl;", f"listen 127.0.0.1:{port};"),
        (r" *ssl_certificate(_key)? .*\n", ""),
    )
    for pattern, replacement in changes:
        text, number = re.subn(pattern, replacement, text)
        assert number, f"the page has no {pattern}"
    return text


def test_the_page_s_configuration_gives_outside_urls_and_takes_large_messages(
    server: ServerFactory, tmp_path: Path
) -> None:
    program = shutil.which("nginx", path=PATH)
    if program is None:
        pytest.skip("no nginx: `make test-clients` installs it, or names the command")
    port = free_port()
    upstream = server.shared("--trust-proxy").endpoint.removeprefix("http://")
    (tmp_path / "rockdove.conf").write_text(configuration(upstream, port))
    (tmp_path / "nginx.conf").write_text(_AROUND.format(folder=tmp_path))
    command = [program, "-p", str(tmp_path), "-e", str(tmp_path / "error.log"), "-c", str(tmp_path / "nginx.conf")]
    with Process(command, tmp_path, "nginx") as nginx:
        nginx.wait_for(lambda: is_listening(port), "open port", 10)
        queue = _call(port, "CreateQueue", {"QueueName": "jobs"})["QueueUrl"]
        assert queue == "http://queues.example.com/000000000000/jobs"
        # Each of these characters has six bytes in JSON's most wasteful form.
        sent = _call(port, "SendMessage", {"QueueUrl": queue, "MessageBody": "\t" * 1_048_576})
        assert sent["MessageId"]


def _call(port: int, operation: str, request: dict[str, str]) -> dict[str, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        headers = {"Host": "queues.example.com", "X-Amz-Target": f"AmazonSQS.{operation}"}
        body = json.dumps(request).replace("\\t", "\\u0009")
        connection.request("POST", "/", body, headers)
        answer = connection.getresponse()
        content = answer.read()
    finally:
        connection.close()
    assert answer.status == 200, content
    result: dict[str, str] = json.loads(content)
    return result
