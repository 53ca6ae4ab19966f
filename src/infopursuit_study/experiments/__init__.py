"""Commands that measure models: python -m infopursuit_study.experiments.NAME."""
