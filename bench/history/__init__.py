"""Histories: clients use a service while faults hit it, every call is recorded, and the record is checked.

`python -m bench.history --seconds 300 --seed 1 --store sqlite --workers 2`; docs/explanation/history.md tells more.
"""
