"""Trees by other inducers: C4.5, GUIDE, QUEST, and the interpretable single model (ISM)."""
