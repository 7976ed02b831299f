"""Amazon resource names of queues and topics. One service is one region: whichever an ARN names, it means the same."""

import re

_ARN = re.compile(r"arn:aws[a-z-]*:sqs:[^:]*:([^:]*):([^:/]+)")
_TOPIC_ARN = re.compile(r"arn:aws[a-z-]*:sns:[^:]*:([^:]*):([^:/]+)(?::([0-9a-f-]+))?")

# What clients take for a region: they build names of hosts from it.
_REGION = re.compile(r"(?![0-9]+\Z)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")


def is_region(text: str) -> bool:
    return _REGION.fullmatch(text) is not None


def queue_arn(region: str, account: str, name: str) -> str:
    return f"arn:aws:sqs:{region}:{account}:{name}"


def parse_arn(arn: str) -> tuple[str, str] | None:
    """The account and the name of a queue, or None for what is no queue's ARN."""
    match = _ARN.fullmatch(arn)
    return (match[1], match[2]) if match else None


def topic_arn(region: str, account: str, name: str) -> str:
    return f"arn:aws:sns:{region}:{account}:{name}"


def subscription_arn(topic: str, uid: str) -> str:
    """Of a subscription to the topic with that ARN."""
    return f"{topic}:{uid}"


def parse_topic_arn(arn: str) -> tuple[str, str] | None:
    """The account and the name of a topic, or None for what is no topic's ARN."""
    match = _TOPIC_ARN.fullmatch(arn)
    return (match[1], match[2]) if match and match[3] is None else None


def parse_subscription_arn(arn: str) -> tuple[str, str, str] | None:
    """The account and the name of a topic, and the id of a subscription to it, or None for what is no such ARN."""
    match = _TOPIC_ARN.fullmatch(arn)
    return (match[1], match[2], match[3]) if match and match[3] is not None else None
