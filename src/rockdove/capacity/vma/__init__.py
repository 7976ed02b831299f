"""The paper's model of a cloud message queue: senders, a broker with visibility timeouts, receivers."""
