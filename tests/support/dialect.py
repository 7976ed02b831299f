"""boto3 clients for both protocols: AWS JSON as boto3 speaks it, and AWS Query as it did until 2023."""

from copy import deepcopy
from functools import cache
from typing import Any

import boto3
from botocore.loaders import Loader
from botocore.session import Session

from tests.support.aws import config
from tests.support.environment import ACCESS_KEY, REGION, SECRET_KEY
from tests.unit.wire.oracle import LIST_NAMES, MAP_NAMES

PROTOCOLS = ("json", "query")


class _QueryLoader(Loader):  # type: ignore[misc]
    """Loads botocore's models, and for SQS the one that it had when SQS spoke Query."""

    def load_service_model(self, service_name: str, type_name: str, api_version: str | None = None) -> Any:
        if (service_name, type_name) == ("sqs", "service-2"):
            return _query_model()
        return super().load_service_model(service_name, type_name, api_version)


@cache
def _query_model() -> dict[str, Any]:
    model: dict[str, Any] = deepcopy(Loader().load_service_model("sqs", "service-2"))
    metadata, shapes = model["metadata"], model["shapes"]
    for name in ("awsQueryCompatible", "jsonVersion", "targetPrefix"):
        metadata.pop(name, None)
    metadata |= {
        "protocol": "query",
        "protocols": ["query"],
        "xmlNamespace": "http://queue.amazonaws.com/doc/2012-11-05/",
    }
    for name, flat in LIST_NAMES.items():
        shapes[name]["member"]["locationName"] = flat
    for name, (_, key) in MAP_NAMES.items():
        shapes[name]["key"]["locationName"] = key
        shapes[name]["value"]["locationName"] = "Value"
    for shape in shapes.values():
        for member in shape.get("members", {}).values():
            if member["shape"] in MAP_NAMES:
                member["locationName"] = MAP_NAMES[member["shape"]][0]
    for name in ("StringList", "BinaryList"):
        shapes[name]["member"]["locationName"] = f"{name}Value"
        for value in ("MessageAttributeValue", "MessageSystemAttributeValue"):
            shapes[value]["members"][f"{name}Values"] |= {"flattened": True, "locationName": f"{name}Value"}
    for operation in model["operations"].values():
        if "output" in operation:
            operation["output"]["resultWrapper"] = operation["output"]["shape"]
    return model


@cache
def _session(protocol: str) -> boto3.Session:
    """Kept, because it reads botocore's models anew each time."""
    core = Session()
    if protocol == "query":
        core.register_component("data_loader", _QueryLoader())
    return boto3.Session(
        aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY, region_name=REGION, botocore_session=core
    )


def client(
    protocol: str, endpoint: str, access_key: str = ACCESS_KEY, secret_key: str = SECRET_KEY, **options: Any
) -> Any:
    """Checks no parameters itself: what is wrong with them is for the service to say.

    Options are those of `boto3.Session.client`.
    """
    # botocore puts its user agent together anew for each request, which takes a sixth of the request's time.
    settings = config(parameter_validation=False, user_agent="contract")
    keys = {"aws_access_key_id": access_key, "aws_secret_access_key": secret_key}
    return _session(protocol).client("sqs", endpoint_url=endpoint, config=settings, **keys, **options)
