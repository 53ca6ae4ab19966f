"""Campaigns that try to break what the project promises.

Each campaign is a module NAME.py here, with a long form, `python -m tests.campaigns.NAME`, that
writes its tables to artifacts/campaigns/NAME.md. Its short form is test_NAME.py and runs in
`make test`. `make campaign` runs every long form and puts the tables into docs/reliability.md.
"""

# In the order of docs/reliability.md, which has marks `<!-- tables NAME -->` for each.
CAMPAIGNS: tuple[str, ...] = (
    "kills",
    "bad_inputs",
    "fuzz",
    "strangers",
    "server_load",
    "capacity",
)
