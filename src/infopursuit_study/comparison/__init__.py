"""All peers by one protocol: settings chosen, fitted, measured, put side by side.

entries.py   what a peer is given, how each is made, and the settings that it may try
protocol.py  one peer, one seed: try, fit, read the test split once, count true claims
seeds.py     all peers with all seeds, in processes, kept while others run
results.py   the results of a peer, written and read
tables.py    tables of all peers, with paired intervals
"""
