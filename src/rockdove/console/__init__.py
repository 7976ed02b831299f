"""The web console: pages for people who look after queues, in a process of its own."""
