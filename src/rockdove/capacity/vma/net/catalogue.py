"""The nets of the paper by name, and where each of them is in the whole."""

from collections.abc import Callable
from dataclasses import dataclass

from rockdove.capacity.petri import Net
from rockdove.capacity.vma.net.broker import broker
from rockdove.capacity.vma.net.layer import layer_1, layer_2
from rockdove.capacity.vma.net.recv_proc import recv_proc
from rockdove.capacity.vma.net.send_proc import send_proc
from rockdove.capacity.vma.net.visibility_timeout import visibility_timeout
from rockdove.capacity.vma.scenario import Scenario


@dataclass(frozen=True)
class Entry:
    """`path` leads from Layer_1 to the page; `figure` is the paper's."""

    name: str
    figure: str
    build: Callable[[Scenario], Net]
    path: str


NETS = (
    Entry("Layer_1", "4", layer_1, ""),
    Entry("Layer_2", "5", layer_2, "Cloud_queue"),
    Entry("Send_Proc", "6", send_proc, "Cloud_queue.Send_Proc"),
    Entry("Broker", "7 and 10", broker, "Cloud_queue.Broker"),
    Entry("Recv_Proc", "8", recv_proc, "Cloud_queue.Recv_Proc"),
    Entry("Visibility_Timeout", "9", visibility_timeout, "Cloud_queue.Broker.Visibility_Timeout"),
)
