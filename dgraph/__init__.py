"""Graph analytics for people who work with Dask: the graph stays on the workers."""

from dgraph import config  # first: it sees to the cache of the kernels that follow

__all__ = ["config"]
__version__ = "0.1.0"
