"""The report: one HTML page with pictures, which needs no other file."""

from rockdove.spark.report.page import page

__all__ = ["page"]
