"""When a queue gets more workers, or fewer: rules that run the same against the service and in a simulation."""
