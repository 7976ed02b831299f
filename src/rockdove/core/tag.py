"""Tags of queues and topics: what they may be."""

from collections.abc import Iterable, Mapping

from rockdove.core import limits


def wrong_key(keys: Iterable[str]) -> str | None:
    """What is wrong with keys that are to be taken away; None: nothing."""
    if all(0 < len(key) <= limits.MAX_TAG_KEY_LENGTH for key in keys):
        return None
    return f"Tag keys must be between 1 and {limits.MAX_TAG_KEY_LENGTH} characters in length."


def wrong_tag(tags: Mapping[str, str]) -> str | None:
    """What is wrong with tags; None: nothing. How many there are does not count here."""
    for key, value in tags.items():
        if not 1 <= len(key) <= limits.MAX_TAG_KEY_LENGTH or key.startswith("aws:"):
            return (
                f"Tag keys must be between 1 and {limits.MAX_TAG_KEY_LENGTH} characters in length and must not begin "
                "with aws:."
            )
        if len(value) > limits.MAX_TAG_VALUE_LENGTH:
            return f"Tag values must be between 0 and {limits.MAX_TAG_VALUE_LENGTH} characters in length."
    return None
