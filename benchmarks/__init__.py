"""Speed, accuracy and memory beside the peers: `python -m benchmarks.NAME` from the root."""
