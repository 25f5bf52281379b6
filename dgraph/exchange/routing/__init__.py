"""Routing: over which slots a message travels, to send fewer frames over expensive links.

Slots are the leaves of a domain tree, and a group is a domain below which links are cheap. A
strategy is a schedule of stages; in a stage a slot sends at most one frame to each other slot::

    direct        s -> t
    aml           s -> slot of t's group with s's local number -> t
    rail          s -> slot of s's group with t's local number -> t
    monitor       s -> monitor of s's group -> monitor of t's group -> t
    mst           as monitor, but the gateway is the first slot of the group; does not combine
    multileader   as monitor, but a group has two, and the target tells which
    tree          up from monitor to monitor, across, and down
    auto          the cheapest of direct, rail, monitor and tree, for each superstep

What meets on the way leaves in one frame, and what is to the same vertex as one message. From G
groups of p slots to each other::

                  frames that cross     messages that cross
    direct        G (G - 1) p p         distinct (source slot, vertex)
    aml           G (G - 1) p           the same
    rail          G (G - 1) p           distinct (source group, vertex)
    monitor       G (G - 1)             the same as rail

A broadcast goes the ways of a reduce backwards: a value crosses to a group once. All stages are
one superstep. Votes ride on them, and a process waits only for those that could send to it; see
:mod:`dgraph.exchange.routing.schedule`.

The way of a strategy is one function of the stage, where a message is and where it goes:
:class:`~dgraph.exchange.routing.ground.Strategy`. A new one is a new file and a line in
:mod:`dgraph.exchange.routing.strategies`.
"""
