"""CoAP: devices post to queues, in datagrams or over TLS."""
