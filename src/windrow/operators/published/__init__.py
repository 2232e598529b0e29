"""Operators over the papers' window joins as published (`kernels/published`)."""
