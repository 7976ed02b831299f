"""Why a connection ends."""

from ohmqtt.mqtt_spec import MQTTReasonCode as Reason

from rockdove.core.errors import RockdoveError
from rockdove.gateway.error import Why

# What MQTT calls our refusals: in an answer to a PUBLISH or a SUBSCRIBE, and at the end of a connection.
REASONS = {
    Why.NOBODY: Reason.NotAuthorized,
    Why.DENIED: Reason.NotAuthorized,
    Why.NO_QUEUE: Reason.TopicNameInvalid,
    Why.CONTENT: Reason.PayloadFormatInvalid,
    Why.TOO_LARGE: Reason.QuotaExceeded,
    Why.OTHER: Reason.ImplementationSpecificError,
}


class Ending(RockdoveError):
    """Ends a connection; the client is told, as far as its version of MQTT can tell it."""

    def __init__(self, reason: Reason, text: str) -> None:
        self.reason = reason
        super().__init__(text)
