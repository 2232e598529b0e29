"""Speed, measured as ratios against a peer in the same run. Nothing here is a test."""
