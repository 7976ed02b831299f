"""MQTT 3.1.1 and 5: devices publish into queues, and subscribe to queues for commands."""
