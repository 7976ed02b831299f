"""What a queue can carry, and how long its messages take. Needs ``rockdove[capacity]``; the package alone, nothing."""
