"""The store on Redis servers: physical queues spread over them, one function call for each verb."""
