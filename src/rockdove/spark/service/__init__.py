"""What source and sink have in common: where the queue is, and who asks."""
