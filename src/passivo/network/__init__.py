"""Parts with their own rates, joined by junctions that book energy."""
