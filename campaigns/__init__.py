"""Campaigns that try to break what the project promises; the tests run them in their short form."""
