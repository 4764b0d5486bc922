"""Our benchmarks as tasks of Inspect: its logs, viewer, retries, caching and limits. Needs the extra `evals`."""
