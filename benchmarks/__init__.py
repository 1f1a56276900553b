"""Benchmarks against peers and papers: ratios of one run, tables on standard output."""
