"""Questions with answers of their own, what an answer tells of the class, and which to ask."""
