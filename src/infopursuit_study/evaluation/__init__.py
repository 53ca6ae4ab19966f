"""What a fitted model is worth on test images, and what its answers depend on.

measurement.py       the one pass over the test images: posteriors reduced, asked questions counted
run_metrics.py       curves over budgets, stopping rules, calibration, the numbers of a run
bootstrap.py         confidence intervals over test images and seeds
dependence.py        whether an answer depends on its own question and image alone
agreement.py         whether answers agree with the truth, wherever that is known
accuracy.py          all of these for a run of the pipeline, and their files
chosen_images.py     which test images are explained
explained_images.py  how they are, and their file
files.py             metrics as JSON, curves as CSV, predictions as Parquet
"""
