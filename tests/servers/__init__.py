"""Real servers that tests start and stop: each in a folder of its own, on a free loopback port."""
