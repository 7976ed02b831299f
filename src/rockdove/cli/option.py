"""The options that many commands have."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from rockdove.cli import setting

Config: TypeAlias = Annotated[Path | None, setting.CONFIG]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Endpoint: TypeAlias = Annotated[
    str, typer.Option("--endpoint", metavar="URL", envvar="ROCKDOVE_ENDPOINT", help="The service to talk to.")
]
Region: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--region",
        metavar="NAME",
        envvar="ROCKDOVE_REGION",
        help="The region that signatures name.",
        show_default="AWS_REGION or us-east-1",
    ),
]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Master: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="The Spark master: local[2], spark://HOST:7077, yarn, k8s://...",
        show_default="that of spark-submit, or local[*]",
    ),
]
Conf: TypeAlias = Annotated[
    list[str] | None, typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark; repeatable.")
]
