"""The monitors of the experiments: 26, as many as the paper says it has; it names but one, Msg_Delivery_Latency."""

from rockdove.capacity.petri import Average, Breakpoint, Collector, Count, Monitor
from rockdove.capacity.vma.net.colour import SECOND
from rockdove.capacity.vma.scenario import Option, Scenario


def measuring(scenario: Scenario) -> list[Monitor]:
    """Those that a `Measure` is made of."""
    return [
        # Algorithm 5.
        Collector("Msg_Delivery_Latency", "Recv_Proc.Deliver", "recvtime - msg.AT"),
        Average("Sender_Waiting", "Send_Proc.Buffer", "len(tokens[0])"),
        Average("Sender_Busy", "Send_Proc.Sending"),
        Average("Sender_Active", "Send_Proc.Sending", "size > 0"),
        # A message stays in Queue until it is deleted; those that nobody works on are Queue less Invisible.
        Average("Queue_Length", "Broker.Queue", "len(tokens[0])"),
        Average("Invisible_Length", "Broker.Invisible", "len(tokens[0])"),
        Average("Broker_Busy", "Recv_Proc.Processing"),
        Average("Broker_Active", "Recv_Proc.Processing", "size > 0"),
        Breakpoint("Stop", at=round(scenario.duration_s * SECOND)),
    ]


def telling(scenario: Scenario) -> list[Monitor]:
    """The others, for those who want to know where the time goes."""
    get = "Get_Oldest_Msg" if scenario.option is Option.IN_ORDER else "Get_Msg"
    return [
        Collector("Msg_Sender_Wait", "Send_Proc.Get_Thread", "now - since"),
        Collector("Msg_Sending_Time", "Send_Proc.Locate", "now - at"),
        Collector("Msg_Broker_Wait", f"Broker.{get}", "now - msg.IT"),
        Count("Produced", "Send_Proc.Produce"),
        Count("Sent", "Send_Proc.Send"),
        Count("Enqueued", "Send_Proc.Enqueue"),
        Count("Dequeued", f"Broker.{get}"),
        Count("Forwarded", "Recv_Proc.Forward"),
        Count("Received", "Recv_Proc.Receive", "ok"),
        Count("Lost", "Recv_Proc.Receive", "not ok"),
        Count("Delivered", "Recv_Proc.Deliver"),
        Count("Cancelled", "Visibility_Timeout.Cancel"),
        Count("Triggered", "Visibility_Timeout.Trigger", "indexxvis[0] == n"),
        Average("Sender_Link", "Send_Proc.Link"),
        Average("Receiver_Link", "Recv_Proc.Link"),
        Average("Timers", "Broker.Timer"),
        Average("Idle_Requests", "Broker.Req"),
    ]


def monitors(scenario: Scenario) -> list[Monitor]:
    return [*measuring(scenario), *telling(scenario)]
