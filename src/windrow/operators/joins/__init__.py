"""Window joins, outer and snapshot joins, as-of joins, joins with tables."""
