"""The superstep engine: slot programs, their context, and how they are run on Dask.

::

    launch   on the client: pick the workers, start one pinned task on each, wait, report
    plugin   on a worker: holds shards, answers the client
    gang     in the pinned task: joins the other workers, hosts this worker's slots
    context  in a slot: reduce, broadcast, allreduce
    pool     the same slots on threads without Dask, for tests and virtual slots
"""
