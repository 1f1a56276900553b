"""Trees by other inducers: C4.5, GUIDE, QUEST, and the interpretable single model (ISM).

`_inducers` grows them: the first three with best cuts by the kernel `_statistics`, ISM, on an
ensemble's votes, with the kernel `_ism_growth`.
"""
