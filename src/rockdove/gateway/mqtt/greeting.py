"""The first packet of a client: who it is, and what it may expect here."""

import uuid

from msgspec import Struct
from ohmqtt.mqtt_spec import MQTTReasonCode as Reason
from ohmqtt.packet import MQTTConnAckPacket, MQTTConnectPacket
from ohmqtt.property import MQTTConnAckProps

from rockdove.client import Basic, Bearer, Nobody
from rockdove.gateway.mqtt.ending import Ending
from rockdove.gateway.mqtt.packet import Version
from rockdove.gateway.mqtt.publication import check_text
from rockdove.gateway.mqtt.stream import MOST_PACKET_BYTES
from rockdove.gateway.service import Identity

# Publications that a client of MQTT 5 may have under way.
WINDOW = 20
_MOST_AWAITED = 65_535
_MOST_QOS = 1
# A client that takes only smaller packets gets no sentences.
_EXPLAINED_BYTES = 10_240


class Greeting(Struct, frozen=True):
    """A CONNECT packet that can be served."""

    packet: MQTTConnectPacket
    version: Version
    identity: Identity
    client: str
    # Whether the client has no id of its own.
    is_named_here: bool

    @property
    def keep_alive_s(self) -> float | None:
        """For so long a client may be silent."""
        return 1.5 * self.packet.keep_alive or None

    @property
    def most_awaited(self) -> int:
        """So many publications it takes before it has acknowledged the first."""
        return self.packet.properties.ReceiveMaximum or _MOST_AWAITED

    @property
    def may_explain(self) -> bool:
        properties = self.packet.properties
        has_room = (properties.MaximumPacketSize or _EXPLAINED_BYTES) >= _EXPLAINED_BYTES
        return self.version is Version.V5 and properties.RequestProblemInformation is not False and has_room

    def welcome(self) -> MQTTConnAckPacket:
        if self.version is Version.V311:
            return MQTTConnAckPacket()
        properties = MQTTConnAckProps(
            ReceiveMaximum=WINDOW,
            MaximumQoS=_MOST_QOS,
            RetainAvailable=False,
            MaximumPacketSize=MOST_PACKET_BYTES,
            WildcardSubscriptionAvailable=False,
            SubscriptionIdentifierAvailable=False,
            SharedSubscriptionAvailable=False,
        )
        if self.is_named_here:
            properties.AssignedClientIdentifier = self.client
        if self.packet.properties.SessionExpiryInterval:
            properties.SessionExpiryInterval = 0
        return MQTTConnAckPacket(properties=properties)


def greeting(packet: MQTTConnectPacket, version: Version) -> Greeting:
    """Raises `Ending`."""
    if packet.properties.AuthenticationMethod is not None:
        raise Ending(Reason.BadAuthenticationMethod, "accounts are shown by user name and password, or by a token")
    if not packet.client_id and version is Version.V311 and not packet.clean_start:
        raise Ending(Reason.ClientIdentifierNotValid, "without a client id there can be no session")
    check_text(packet.client_id, "the client id", Reason.ClientIdentifierNotValid)
    if packet.will_qos > _MOST_QOS and version is Version.V5:
        raise Ending(Reason.QoSNotSupported, "the will has a quality of service above 1")
    if packet.will_retain and version is Version.V5:
        raise Ending(Reason.RetainNotSupported, "the will is to be retained; queues keep messages by themselves")
    client = packet.client_id or f"auto-{uuid.uuid4().hex}"
    return Greeting(packet, version, _identity(packet), client, not packet.client_id)


def _identity(packet: MQTTConnectPacket) -> Identity:
    if packet.password is None and packet.username is None:
        return Nobody()
    try:
        secret = (packet.password or b"").decode()
        return Basic(packet.username, secret) if packet.username else Bearer(secret)
    except ValueError as error:
        raise Ending(Reason.BadUserNameOrPassword, f"the password cannot be one: {error}") from None
