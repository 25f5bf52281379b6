"""The superstep engine: slot programs, their context, and how they are run on Dask.

::

    launch   on the client: pick the workers, start one pinned task on each, wait, report
    members  on the client: which workers host which slots
    vigil    on the client: wait, look after lost workers, end what has to end
    plugin   on a worker: holds shards, answers the client
    gang     in the pinned task: joins the other workers, hosts this worker's slots
    failure  who noticed what, and the one error that the user sees
    records  frames, messages, bytes and seconds of every superstep
    context  in a slot: reduce, broadcast, allreduce
    pool     the same slots on threads without Dask, for tests and virtual slots
"""
