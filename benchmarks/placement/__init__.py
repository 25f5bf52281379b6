"""The evidence of the placement papers, at small scale, by counters of virtual slots."""
