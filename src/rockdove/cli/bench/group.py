"""The group of commands that measure."""

import typer

from rockdove.cli.command import LazyGroup, help_if_alone, new_app


class _Bench(LazyGroup):
    places = {
        "bdqs": "rockdove.cli.bench.bdqs:bdqs",
        "peers": "rockdove.cli.bench.peers:peers",
        **{f"fig{number}": f"rockdove.cli.bench.figure:fig{number}" for number in range(4, 9)},
        "rds": "rockdove.cli.bench.rds:rds",
        "elastic": "rockdove.cli.bench.elastic:elastic",
        "elastic3": "rockdove.cli.bench.elastic3:elastic3",
    }


app = new_app(cls=_Bench, invoke_without_command=True)


@app.callback()
def _bench(ctx: typer.Context) -> None:
    """Measure a queue service: this one, or any that speaks Amazon SQS.

    \b
    Example:
      rockdove bench bdqs --queues 20
      rockdove bench peers http://127.0.0.1:9324 http://127.0.0.1:5000
    """
    help_if_alone(ctx)
