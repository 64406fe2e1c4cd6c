"""What the paper argues against, mentions, or what came after: the same protocol, never imported
by the core."""
