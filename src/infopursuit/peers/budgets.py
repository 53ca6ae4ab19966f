"""Numbers of texts at which peers are compared."""

BUDGETS = (5, 10, 15, 20, 25, 30)
