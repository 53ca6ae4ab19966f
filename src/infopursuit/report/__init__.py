"""The report of all runs: one page that holds everything measured.

runs.py           what the stages wrote about each run
methods.py        what a method is, in words and in colour
groups.py         runs that differ only in their seed, measured together
comparisons.py    paired differences between groups
chosen_images.py  which test images are explained
worst_answers.py  the worst answers of a run, with their pictures
truths.py         the form of a run's file of truths
meanings.py       how true and how sensible a run is
report.py         the page, with its first lines (verdict.py), tables (report_tables.py,
                  meaning_tables.py, truth_tables.py, origin_tables.py,
                  paper_tables.py) and charts (report_charts.py, charts.py)
summary.py        the table that the pipeline ends with, and a file of metrics for each run
plot_images.py    the images that `dvc plots show` shows
published.py      the paper's figures
"""
