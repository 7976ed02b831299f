"""The numbers that SQS documents as its limits."""

# A message, or all messages of a batch together: body, attribute names, types and values.
MAX_MESSAGE_BYTES = 1_048_576
MIN_MESSAGE_SIZE_BYTES = 1_024

MAX_BATCH_ENTRIES = 10
MAX_BATCH_ID_LENGTH = 80
MAX_MESSAGE_ATTRIBUTES = 10
# Names of attributes that a receive asks for, and their characters together: they are kept for as long as it waits.
MAX_ASKED_NAMES = 100
MAX_ASKED_LENGTH = 4_096
MAX_ATTRIBUTE_NAME_LENGTH = 256
# Of the system attribute AWSTraceHeader, in characters.
MAX_TRACE_HEADER_LENGTH = 512
# Of attributes of type Number, zeros before and after them not counted.
MAX_NUMBER_DIGITS = 38

MAX_DELAY_S = 900
MAX_VISIBILITY_TIMEOUT_S = 43_200
MAX_WAIT_S = 20
MIN_RETENTION_S = 60
MAX_RETENTION_S = 1_209_600

MAX_RECEIVE = 10
# Of our own operations Rockdove.Receive and Rockdove.Peek.
MAX_RECEIVE_EXTENDED = 100
# Of Rockdove.Peek in the order of sending: messages of a page.
MAX_PEEK_PAGE = 1_000
# What an answer of our own operations holds: no more messages once those before are so many bytes. One always fits.
MAX_ANSWER_BYTES = 8_388_608

# Of our own operations on leases: messages of one.
MAX_LEASE = 10_000
MAX_SHARD = 99_999
MAX_LISTED_LEASES = 1_000
# Names of consumers, applications and attempts.
MAX_CONSUMER_LENGTH = 256
# Of Rockdove.PublishOnce: messages of a chunk, chunks of an attempt, its messages and their sizes together (they go in
# by one transaction, for which everybody waits), and batches of an application that are remembered.
MAX_PUBLISH_ENTRIES = 1_000
MAX_CHUNKS = 10_000
MAX_STAGED = 100_000
MAX_STAGED_BYTES = 268_435_456
REMEMBERED_BATCHES = 100
# Of Rockdove.PublishBatch: attempts that count, and chunks of one. They need not go in together.
MAX_ATTEMPTS = 100_000
MAX_BATCH_CHUNKS = 100_000
# How long what is staged waits for its final chunk.
STAGED_S = 86_400
# For how long after its last publication an application's batches are known one by one, and for how long it is known
# at all: in between, all that it has published up to its newest batch is refused.
PUBLISHED_S = 7 * 86_400
APPLICATION_S = 90 * 86_400

MAX_QUEUE_NAME_LENGTH = 80
# Group and deduplication ids, receive attempt ids.
MAX_ID_LENGTH = 128

DEDUPLICATION_S = 300
RECEIVE_ATTEMPT_S = 300
# Purge again, and re-create after delete, are refused for so long.
COOL_DOWN_S = 60

MAX_IN_FLIGHT = 120_000
MAX_TAGS = 50
MAX_TAG_KEY_LENGTH = 128
MAX_TAG_VALUE_LENGTH = 256
MAX_RECEIVE_COUNT = 1_000
MAX_REDRIVE_SOURCES = 10

# Of one account, at the same time: each takes memory, and its turns.
MAX_MOVE_TASKS = 100
MAX_MOVE_RATE = 500
MAX_LISTED_MOVE_TASKS = 10
MAX_LISTED_QUEUES = 1_000

# Of topics: names, what is published at once, and how many there are of an account, and subscriptions of a topic.
MAX_TOPIC_NAME_LENGTH = 256
MAX_NOTIFICATION_BYTES = 262_144
MAX_SUBJECT_LENGTH = 100
MAX_DISPLAY_NAME_LENGTH = 100
MAX_TOPICS = 10_000
MAX_SUBSCRIPTIONS = 1_000
MAX_FIFO_SUBSCRIPTIONS = 100
# Of one list of topics or subscriptions.
MAX_LISTED_TOPICS = 100
# Of a filter policy: its text, its properties, and the product of the numbers of their values.
MAX_FILTER_BYTES = 262_144
MAX_FILTER_PROPERTIES = 5
MAX_FILTER_COMBINATIONS = 150

MAX_PHYSICAL_QUEUES = 1_000
# Of a FIFO queue, how often its physical queues can be replaced while messages are left in those before.
MAX_LEAVING_GENERATIONS = 8
MAX_ORDER_HINT = 1_000
# What a controller publishes, in bytes, and how long no other may, in seconds.
MAX_ELASTIC_STATE_BYTES = 65_536
MAX_ELASTIC_HOLD_S = 3_600
MAX_HOLDER_LENGTH = 128
MAX_WEIGHT = 1_000_000
# Milliseconds of a dequeue policy's settings: a receive waits no longer anyway.
MAX_RETRY_SLEEP_MS = 20_000
MAX_MONITOR_MS = 20_000

# A tenant of a fair queue is noisy with more than this share of what is in flight, and at least so many messages.
NOISY_SHARE = 0.10
NOISY_MIN_IN_FLIGHT = 30
