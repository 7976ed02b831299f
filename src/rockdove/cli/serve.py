"""``rockdove serve``: run the service."""

from rockdove.cli import option
from rockdove.cli.failure import Code, Failure
from rockdove.cli.flag import with_settings
from rockdove.cli.limit import fitting
from rockdove.cli.output import Output
from rockdove.cli.serving import check_exposed, run
from rockdove.server.log import configure
from rockdove.server.setting import Settings
from rockdove.store.registry import Location, UnknownStore


@with_settings
def serve(*, config: option.Config = None, as_json: option.Json = False, settings: Settings) -> None:
    """Run the queue service until Ctrl-C or SIGTERM.

    Messages are kept in the folder "data" under the current one, or where --data says. Once the
    service listens, it prints "ready http://HOST:PORT"; with --json one line {"ready": URL, ...}.

    \b
    Examples:
      rockdove serve
      rockdove serve --port 0 --data /var/lib/rockdove
      rockdove serve --store memory --no-cool-down
    """
    check_exposed(settings.host, _location(settings))
    if (settings.tls_cert is None) != (settings.tls_key is None):
        raise Failure("TLS needs both a certificate and its key: --tls-cert FILE --tls-key FILE", Code.USAGE)
    configure(settings.log_format, settings.log_level)
    settings.limits = fitting(settings.limits)
    run(settings, Output(as_json))


def _location(settings: Settings) -> Location:
    try:
        return settings.locate()
    except UnknownStore as error:
        raise Failure(f"--store: {error}", Code.USAGE) from None
