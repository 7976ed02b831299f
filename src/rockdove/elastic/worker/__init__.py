"""What works on the messages of a queue."""
