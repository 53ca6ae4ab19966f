"""What people see: explanations of single images, figures, and the report of all runs."""
