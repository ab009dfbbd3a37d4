"""Looking inside a solution with NVIDIA's tools: Nsight Compute, CUPTI through torch's profiler, compute-sanitizer.

No part of an evaluation: what is seen here decides nothing.
"""
