"""The model side: the only package that imports anthropic."""
