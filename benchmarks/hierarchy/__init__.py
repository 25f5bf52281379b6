"""What the communication hierarchy gains: ``python -m benchmarks.hierarchy --help``.

==============  ============================================================================
figure          shows
==============  ============================================================================
split           Fig. 1: computation, exchange inside and between domains, waiting
teps            Fig. 4: BFS, traversed edges per second by routing
traffic         Fig. 7: frames and bytes between domains, beside aml
scaling         Fig. 8: BFS on more and more slots
real            Fig. 9: six algorithms on two real graphs
ablation        aml, + hierarchy, + combining, + dynamic buffers
auto            "auto" beside the best fixed routing, on four machines
virtual         BFS and PageRank on thousands of slots of described machines
links           `topology.simulate` beside traffic on the emulated network
carriers        every transport, and whether "auto" takes the best one
baselines       one strategy for everything, as other systems have it, on this host
overlap         sending while a kernel goes on, with static and dynamic buffers
law             times on 8 slots, extrapolated from 2 and 4: held against the emulated network
wire            bytes that the engine counts, held against what the network has carried
walls           wall time on the emulated network: Figs. 1, 4 and the ablation, measured
topdown         the same of BFS that only goes top-down, and of ours, in two domains
==============  ============================================================================

Frames, messages and bytes are always counted, by the engine on virtual slots (``lab``) or from
the whole graph (``counting``, the same to the last byte). Times are "simulated"
(`dgraph.topology.simulate` of these frames) unless they are measured: between processes of this
host, or on the emulated network, which needs root and the folder of its script (``netlab``).
"""
