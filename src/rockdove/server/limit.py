"""What clients may take of the service before it refuses them; each is a setting."""

from typing import Annotated

from msgspec import Struct

from rockdove.server.flag import Flag


class Limits(Struct, frozen=True, kw_only=True):
    """Whoever is over one of them gets an answer that says so; the others are served as before."""

    max_connections: Annotated[int, Flag("Connections at once; more are answered 503.", min=1)] = 10_000
    max_connections_per_address: Annotated[
        int, Flag("Connections from one address; more are answered 429. 0: any number.", min=0)
    ] = 6_000
    max_long_polls: Annotated[
        int, Flag("Receives that wait for a message; more are answered ThrottlingException.", min=1)
    ] = 8_000
    max_queues_per_account: Annotated[
        int, Flag("Queues of an account, each as often as it has physical ones; then OverLimit.", min=1)
    ] = 10_000
    # Holds the largest batch in its most wasteful encoding.
    max_body_bytes: Annotated[int, Flag("A request's body; more is answered 413.", min=1024)] = 8 * 1024 * 1024
    max_header_bytes: Annotated[int, Flag("A request's first line and headers; more is answered 431.", min=1024)] = (
        64 * 1024
    )
    max_pipelined: Annotated[int, Flag("Requests sent ahead on one connection; more are read later.", min=1)] = 16
    max_buffered_bytes: Annotated[
        int, Flag("Unfinished requests and unread answers of all clients; then the oldest is dropped.", min=1024)
    ] = 256 * 1024 * 1024
    handshake_timeout_s: Annotated[float, Flag("For a TLS handshake.", min=1)] = 10
    header_timeout_s: Annotated[
        float, Flag("From a request's first byte to the end of its headers; then 408.", min=1)
    ] = 30
    body_timeout_s: Annotated[float, Flag("From a request's first byte to its last; then 408.", min=1)] = 60
    write_timeout_s: Annotated[float, Flag("For a client to take its answer; then it is cut off.", min=1)] = 60
    idle_timeout_s: Annotated[
        float, Flag("A connection may stay open without a request; then it is closed.", min=1)
    ] = 300
