"""What the addresses of a queue's page name: the queue, which must be of the session's own account."""

from rockdove.console.visit import Visit
from rockdove.console.wrong import Wrong

PAGE = "/queues/{account}/{name}"
# Of readings and actions of the page.
API = "/api/queue/{account}/{name}"


def queue_of(visit: Visit) -> str:
    """Its name. Raises `Wrong` for another account's: an open page may be that of an earlier session."""
    if visit.request.path_params["account"] != visit.session.account.id:
        whose = f" You are signed in as {visit.session.account.name}." if visit.session.account.name else ""
        raise Wrong(f"This queue belongs to another account.{whose}", status=403)
    name: str = visit.request.path_params["name"]
    return name


def name_of(address: str) -> str:
    """Of a queue, given by its URL or its ARN."""
    return address.rpartition("/" if "/" in address else ":")[2]
