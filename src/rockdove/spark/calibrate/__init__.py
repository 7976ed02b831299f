"""From traces to the parameters of the performance model."""
