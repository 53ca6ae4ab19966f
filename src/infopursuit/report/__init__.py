"""The report of all runs: one page that holds everything measured.

runs.py           what the stages wrote about each run
methods.py        what a method is, in words and in colour
groups.py         runs that differ only in their seed, measured together
comparisons.py    paired differences between groups
chosen_images.py  which test images are explained
report.py         the page, with its tables (report_tables.py, origin_tables.py, paper_tables.py)
                  and charts (report_charts.py, charts.py)
published.py      the paper's figures
"""
