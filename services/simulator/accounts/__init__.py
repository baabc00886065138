"""Accounts: what belongs to somebody in particular, in neutral terms; the venues' words for it are elsewhere."""
