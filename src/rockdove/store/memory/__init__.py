"""The store that keeps everything in memory."""
