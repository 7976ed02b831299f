"""SQL of the embedded store."""
