"""ElasticMQ, fetched with Maven, in memory and with its SQL storage, as servers under test."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from pathlib import Path

from bench.machine import Unfit
from bench.server import Pace, Server, answering, free_port, process

VERSION = "1.7.1"
MAIN = "org.elasticmq.server.Main"
BUILD = Path("target/elasticmq")

# The JVM compiles what runs often; figures rise for about this long under each load.
PACE = Pace(warm_s=16)

POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>rockdove.bench</groupId>
  <artifactId>elasticmq</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.elasticmq</groupId>
      <artifactId>elasticmq-server_2.13</artifactId>
      <version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""

CONFIG = """include classpath("application.conf")
node-address {{ protocol = http, host = "127.0.0.1", port = {port}, context-path = "" }}
rest-sqs {{ enabled = true, bind-hostname = "127.0.0.1", bind-port = {port}, sqs-limits = strict }}
rest-stats {{ enabled = false }}
"""

STORAGE = """messages-storage {{
  enabled = true
  driver-class = "org.h2.Driver"
  uri = "jdbc:h2:{file}"
  username = "sa"
  password = ""
}}
"""


def classpath() -> str:
    """The jars, fetched once into Maven's own repository; their paths are kept in the build folder."""
    for program, package in (("java", "default-jre-headless"), ("mvn", "maven")):
        if shutil.which(program) is None:
            raise Unfit(f"{program} is missing: apt-get install {package}")
    BUILD.mkdir(parents=True, exist_ok=True)
    pom, paths = BUILD / "pom.xml", BUILD / f"classpath-{VERSION}.txt"
    if not paths.exists() or not all(Path(jar).exists() for jar in paths.read_text().split(":")):
        pom.write_text(POM)
        goal = ["dependency:build-classpath", f"-Dmdep.outputFile={paths.resolve()}"]
        subprocess.run(["mvn", "-q", "-B", "-f", str(pom), *goal], check=True, stdout=subprocess.DEVNULL)
    return paths.read_text()


def in_memory(folder: Path) -> contextlib.AbstractContextManager[Server]:
    return _start("ElasticMQ in memory", folder / "elasticmq-memory", "")


def with_sql(folder: Path) -> contextlib.AbstractContextManager[Server]:
    """Messages in an H2 file, its own default for keeping them."""
    data = folder / "elasticmq-sql"
    return _start("ElasticMQ with SQL", data, STORAGE.format(file=data.resolve() / "messages"))


def _start(name: str, folder: Path, storage: str) -> contextlib.AbstractContextManager[Server]:
    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "elasticmq.conf"
    config.write_text(CONFIG.format(port=port) + storage)
    argv = ["java", f"-Dconfig.file={config}", "-cp", classpath(), MAIN]
    return process(name, argv, folder, answering(f"http://127.0.0.1:{port}"), PACE)
