"""The colour sets of Tables 1 and 2, line by line, and what the figures need beyond them.

Times are whole microseconds: the tables have them as INT, and do not tell the unit.
"""

from rockdove.capacity.petri import INT, UNIT, Enumeration, Listing, Product, Record, timed

# Units of model time in a second.
SECOND = 1_000_000

# Table 1, simple colour sets. INT is (2).
UNIT_TIMED = timed(UNIT)
MSG_TIMEOUT = timed(INT, "MsgTimeout")
REQ = timed(Enumeration("REQ", "req"))
SENDER = Enumeration("Sender", "sender")
THREAD = Enumeration("Thread", "thread")
MSG_CONTENT = Enumeration("MsgContent", "A", "B")
VISIBILITY = Enumeration("Visibility", "visible", "invisible")

# Table 2, compound colour sets. AT is when a message was generated, IT when it was enqueued, OT when it was dequeued.
MSG = Record("Msg", id=INT, msgContent=MSG_CONTENT, AT=INT, IT=INT, OT=INT)
MSG_TIMED = timed(Record("MsgTimed", id=INT, msgContent=MSG_CONTENT, AT=INT))
MSGS = Listing("Msgs", MSG)
THREAD_X_MSG = timed(Product("ThreadxMsg", THREAD, MSG))
MSG_X_TIME = Product("MsgxTime", MSG, INT)
L_MSG_X_TIME = Listing("LMsgxTime", MSG_X_TIME)
IDX_VIS = Product("IdxVis", INT, VISIBILITY)
L_IDX_VIS = Listing("LIdxVis", IDX_VIS)

# Not in the tables. RTxMsg, a message and when it was received, stands in Figure 4.
RT_X_MSG = Product("RTxMsg", INT, MSG)
# A whole message on the link to a receiver: MsgTimed leaves out what cancelTimer compares.
MSG_ON_LINK = timed(MSG, "MsgOnLink")
