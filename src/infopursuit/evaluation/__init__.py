"""What a fitted model is worth on test images, and what its answers depend on.

measurement.py       one pass over the test images: posteriors reduced, asked questions counted
posteriors.py        the few numbers that are kept of each posterior
budget_curves.py     accuracy after t questions, and the area under that curve
stopping.py          stopping rules: how long explanations get, and how accurate they stay
calibration.py       whether a stated probability means what it says
bootstrap.py         confidence intervals over test images and seeds
dependence.py        whether an answer depends on its own question and image alone
agreement.py         whether answers agree with what is in the picture, where that is known
run_metrics.py       the numbers of one run
baseline_metrics.py  the numbers of the baselines
predictions.py       the predicted classes of a run, as a file
files.py             metrics as JSON, curves as CSV
"""
