"""The index of standard queues: front-ends take messages from it without agreeing on it first."""
