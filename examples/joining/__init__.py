"""Ranks that join a run while it is on."""
