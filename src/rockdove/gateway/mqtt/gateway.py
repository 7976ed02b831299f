"""What all connections of a gateway share."""

from typing import TYPE_CHECKING

from rockdove.gateway.mapping import Mapping
from rockdove.gateway.mqtt.large import Large
from rockdove.gateway.service import Identity, Service
from rockdove.server.seldom import Seldom

if TYPE_CHECKING:
    from rockdove.gateway.mqtt.connection import Connection


class Gateway:
    """``topics`` says into which queue a publication goes, ``commands`` which queue a subscriber gets."""

    def __init__(self, service: Service, topics: Mapping, commands: Mapping) -> None:
        self.service = service
        self.topics = topics
        self.commands = commands
        self.seldom = Seldom()
        self.large = Large()
        # The one of each client: a second one takes its place.
        self.connections: dict[tuple[Identity, str], Connection] = {}
