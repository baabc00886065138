"""Holds the private streams of one account: journal on disk first, then published one by one, confirmed."""
