"""The HTTP front, and the service put together."""
