"""``rockdove bench bdqs``."""

from rockdove.cli import option
from rockdove.cli.bench import run
from rockdove.cli.bench.option import with_workload
from rockdove.client.endpoint import DEFAULT_ENDPOINT
from rockdove.workload import Plan, Workload


@with_workload
def bdqs(
    workload: Workload,
    rounds: run.Rounds = 1,
    trace: run.Trace = None,
    prefix: run.Prefix = "bench",
    keep: run.Keep = False,
    endpoint: option.Endpoint = DEFAULT_ENDPOINT,
    region: option.Region = None,
    config: option.Config = None,
    as_json: option.Json = False,
) -> None:
    """Send and receive messages in new queues, and measure rates, times, order, duplicates and losses.

    This is the workload of the BDQS paper. Every message has a number and a checksum. When the
    receivers have finished, the queues are drained, so that a message that has not come by then is
    lost, and not just late. The queues are removed in the end.

    It works with every service that speaks Amazon SQS. Credentials are taken from AWS_ACCESS_KEY_ID
    and AWS_SECRET_ACCESS_KEY. Ctrl-C ends it with the figures up to then.

    \b
    Examples:
      rockdove bench bdqs
      rockdove bench bdqs --queues 20 --processes 2 --rounds 3
      rockdove bench bdqs --receivers 1 --order-hint 3 --receive-delay 0.1
      rockdove bench bdqs --at-once --drop-requests 0.01 --drop-responses 0.01 --crash 0.01
    """
    plan = Plan(
        workload=workload,
        endpoints=[endpoint],
        region=region,
        rounds=rounds,
        prefix=prefix,
        keep=keep,
        trace=run.folder(trace),
    )
    run.run("bdqs", plan, as_json)
