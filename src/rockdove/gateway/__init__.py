"""Other ways in: devices that speak MQTT or CoAP send to queues, and get commands from them."""
