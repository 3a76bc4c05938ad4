"""Embeddings and the FAISS index of each list."""
