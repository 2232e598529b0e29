"""Streams that become relations: change feeds, count windows, expiry, net changes."""
