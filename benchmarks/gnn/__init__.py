"""What caches gain when graph neural networks are trained: ``python -m benchmarks.gnn``."""
