"""How many threads it takes: the cheapest senders and brokers that deliver in time."""
