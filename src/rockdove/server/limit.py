"""What clients may take of the service before it refuses them; each is a setting."""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

Count: TypeAlias = Annotated[int, Meta(ge=1)]
Bytes: TypeAlias = Annotated[int, Meta(ge=1024)]
Seconds: TypeAlias = Annotated[float, Meta(ge=1)]


class Limits(Struct, frozen=True, kw_only=True):
    """Whoever is over one of them gets an answer that says so; the others are served as before."""

    max_connections: Annotated[Count, Meta(description="Connections at once; more are answered 503.")] = 10_000
    max_connections_per_address: Annotated[
        int, Meta(ge=0, description="Connections from one address; more are answered 429. 0: any number.")
    ] = 6_000
    max_long_polls: Annotated[
        Count, Meta(description="Receives that wait for a message; more are answered ThrottlingException.")
    ] = 8_000
    max_queues_per_account: Annotated[
        Count, Meta(description="Queues of an account, each as often as it has physical ones; then OverLimit.")
    ] = 10_000
    # Holds the largest batch in its most wasteful encoding.
    max_body_bytes: Annotated[Bytes, Meta(description="A request's body; more is answered 413.")] = 8 * 1024 * 1024
    max_header_bytes: Annotated[
        Bytes, Meta(description="A request's first line and headers; more is answered 431.")
    ] = 64 * 1024
    max_pipelined: Annotated[Count, Meta(description="Requests sent ahead on one connection; more are read later.")] = (
        16
    )
    max_buffered_bytes: Annotated[
        Bytes,
        Meta(description="Unfinished requests and unread answers of all clients; then the oldest is dropped."),
    ] = 256 * 1024 * 1024
    handshake_timeout_s: Annotated[Seconds, Meta(description="For a TLS handshake.")] = 10
    header_timeout_s: Annotated[
        Seconds, Meta(description="From a request's first byte to the end of its headers; then 408.")
    ] = 30
    body_timeout_s: Annotated[Seconds, Meta(description="From a request's first byte to its last; then 408.")] = 60
    write_timeout_s: Annotated[Seconds, Meta(description="For a client to take its answer; then it is cut off.")] = 60
    idle_timeout_s: Annotated[
        Seconds, Meta(description="A connection may stay open without a request; then it is closed.")
    ] = 300
