"""From measured times to the parameters of the models; numbers only, wherever they were counted."""
