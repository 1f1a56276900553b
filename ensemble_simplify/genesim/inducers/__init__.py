"""Trees by other inducers: C4.5, GUIDE, QUEST, and the interpretable single model (ISM).

`_inducers` grows the first three with the kernel `_statistics`, which finds best cuts and test
statistics. `_ism` grows a tree on an ensemble's votes, with the kernel `_ism_growth`.
"""
