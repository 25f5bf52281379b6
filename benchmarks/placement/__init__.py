"""What placements gain: ``python -m benchmarks.placement --help``.

==============  ============================================================================
figure          shows
==============  ============================================================================
teps            YH-Light, Fig. 3: BFS, traversed edges per second by placement and slots
preprocessing   YH-Light, Fig. 4: placing and building
real            YH-Light, Fig. 5: BFS, PageRank and components on two real graphs
star            rhizomes on a star: messages, the hub's own work, wall time
rhizomes        Rhizomes, Fig. 3: speed-up by rhizome_max
contention      Rhizomes, Fig. 4: a histogram of the messages of each link
scaling         Rhizomes, Fig. 5: the busiest slot by slots
quality         "hierarchy" beside METIS, hash, and a build with "degree"
ablation        placement x routing x combining, each one's own gain
auto            placement "auto" beside "degree", with the build and without
==============  ============================================================================

It runs on the lab of :mod:`benchmarks.hierarchy`: counts are the engine's, on virtual slots of
one process; times of runs are simulated or modelled, from these frames.
"""
