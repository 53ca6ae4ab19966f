"""Commands that measure how fast the parts are and what memory they take."""
