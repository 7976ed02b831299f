"""The nets of the paper: three layers, with its names for places, transitions, colour sets and functions."""

from rockdove.capacity.vma.net.broker import broker
from rockdove.capacity.vma.net.layer import layer_1, layer_2
from rockdove.capacity.vma.net.recv_proc import recv_proc
from rockdove.capacity.vma.net.send_proc import send_proc
from rockdove.capacity.vma.net.visibility_timeout import visibility_timeout

__all__ = ["broker", "layer_1", "layer_2", "recv_proc", "send_proc", "visibility_timeout"]
