"""Explication: does a model ask before it recommends? After Saha et al., section 5 and appendix B."""
