"""What starts and ends workers: local processes, and others."""
