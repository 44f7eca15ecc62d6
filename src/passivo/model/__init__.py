"""What a system is: pure description, no numbers computed, nothing compiled."""
