"""From captions and class names to the universe of query texts."""
