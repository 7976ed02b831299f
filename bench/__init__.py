"""The benchmarks: real servers under real load, run from the root of the repository."""
