"""What ends a child of the parent process in good order."""

import signal

STOP = signal.SIGUSR2
