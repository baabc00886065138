"""Frames and floors, a module per venue."""
