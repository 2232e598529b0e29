"""Window joins tuple by tuple: sweeps, pipelines, and windows in structures of their own."""
