"""Description to machine code: source generation, cache, small dense algebra, Newton (design section 6)."""
