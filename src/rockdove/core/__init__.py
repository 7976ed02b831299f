"""Messages, queues, ids, limits and errors: pure, no I/O."""
