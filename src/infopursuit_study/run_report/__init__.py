"""The report of all runs: one page that holds everything measured.

runs.py            what the stages wrote about each run
methods.py         what a method is, in words and in line styles
groups.py          runs that differ only in their seed, measured together and compared in pairs
charts.py          which lines are drawn, on the page and for `dvc plots show`
tables.py          results, baselines, dependence, dictionaries, settings, the first lines
meaning_tables.py  how true the answers and how good the questions are
paper_tables.py    the paper's tables, with its figures next to ours
page.py            the page
summary.py         the table that the pipeline ends with, and a file of metrics for each run
explored.py        the page to explore the best run
"""
