"""What all pages share: the service, the sessions, live figures and templates."""

from msgspec import Struct

from rockdove.console.live import Hub
from rockdove.console.opened import Opened
from rockdove.console.render import Renderer
from rockdove.console.scaling import Recorders
from rockdove.console.service import Service
from rockdove.console.session import Sessions
from rockdove.console.setting import Settings
from rockdove.console.trial import Trials


class Console(Struct, frozen=True):
    """One of them runs in a process."""

    settings: Settings
    service: Service
    sessions: Sessions
    hub: Hub
    renderer: Renderer
    trials: Trials
    recorders: Recorders
    opened: Opened


def make_console(settings: Settings) -> Console:
    """Raises ValueError if the endpoint is none."""
    service = Service(settings.endpoint, settings.region)
    sessions = Sessions(service)
    return Console(settings, service, sessions, Hub(service, sessions), Renderer(), Trials(), Recorders(), Opened())
