"""Tables that Spark writes into queues."""
