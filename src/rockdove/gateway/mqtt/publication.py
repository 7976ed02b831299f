"""What a device publishes, as a message for a queue."""

from ohmqtt.mqtt_spec import MQTTReasonCode as Reason
from ohmqtt.property import MQTTPublishProps, MQTTWillProps

from rockdove.client import Outgoing
from rockdove.client.outgoing import AttributeValue
from rockdove.core.limits import MAX_MESSAGE_ATTRIBUTES
from rockdove.core.message import FORBIDDEN
from rockdove.gateway.error import Refused, Why
from rockdove.gateway.message import ENCODING, outgoing
from rockdove.gateway.mqtt.ending import Ending

# Names of attributes, which messages for devices may have, too.
TOPIC = "MqttTopic"
CLIENT = "MqttClientId"
CONTENT_TYPE = "ContentType"
RESPONSE_TOPIC = "ResponseTopic"
CORRELATION_DATA = "CorrelationData"
# Those that are no user properties.
OWN = frozenset((TOPIC, CLIENT, CONTENT_TYPE, RESPONSE_TOPIC, CORRELATION_DATA, ENCODING))


def message_of(
    topic: str, payload: bytes, properties: MQTTPublishProps | MQTTWillProps, client: str, queue: str
) -> Outgoing:
    """Raises `Refused`."""
    attributes: dict[str, AttributeValue] = {TOPIC: topic, CLIENT: client}
    given = (
        (CONTENT_TYPE, properties.ContentType),
        (RESPONSE_TOPIC, properties.ResponseTopic),
        (CORRELATION_DATA, properties.CorrelationData),
    )
    attributes.update({name: value for name, value in given if value})
    for name, value in properties.UserProperty or ():
        if name in attributes or name in OWN:
            raise Refused(Why.CONTENT, f"There is more than one property {name!r}, or it is one of ours.")
        attributes[name] = value
    message = outgoing(payload, attributes, client, queue)
    if len(message.attributes or ()) > MAX_MESSAGE_ATTRIBUTES:
        raise Refused(
            Why.CONTENT, f"A message can have {MAX_MESSAGE_ATTRIBUTES} attributes, and these properties are more."
        )
    if properties.PayloadFormatIndicator and not _is_utf8(payload):
        raise Refused(Why.CONTENT, "The payload is said to be UTF-8, and is not.")
    return message


def check_text(text: str, what: str, reason: Reason) -> None:
    """Raises `Ending` for what an attribute of a message cannot hold."""
    found = FORBIDDEN.search(text)
    if found is not None:
        raise Ending(reason, f"{what} has the character #x{ord(found[0]):X}, which queues cannot hold")


def _is_utf8(payload: bytes) -> bool:
    try:
        payload.decode()
    except UnicodeDecodeError:
        return False
    return True
