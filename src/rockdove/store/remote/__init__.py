"""A store that another process has: its verbs travel over a Unix socket."""
