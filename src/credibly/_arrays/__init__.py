"""Arrays and nothing statistical: namespaces, checks, tiles, counters, errors, result types."""
