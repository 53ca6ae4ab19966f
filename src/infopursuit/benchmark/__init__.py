"""All peers by one protocol: settings chosen, fitted, measured, put side by side.

task.py          what a peer is given: texts, images, what is known and judged of the classes
titles.py        the peers by name, and what a number of texts means to each
entries.py       how each is made, and the settings that it may try
protocol.py      one peer, one seed: try, fit, read the test split once
claims.py        whether what an explanation says of an image is true
side_by_side.py  jobs in processes, a core for each
preloaded.py     what these processes have imported
seeds.py         all peers with all seeds, kept while others run
files.py         the results of a peer, written and read
tables.py        tables and curves of all peers, with paired intervals
pictures.py      curves, and accuracy beside truth
records.py       keeps results with a page, and gives them back
page.py          writes the tables into a page
leaders.py       who leads, over all tasks of a page
settings.py      what of it is set in params.yaml
"""
