"""What may be concluded from few replications: intervals, tests, effect sizes, corrections, the end of a warm-up.

Each module names its sources. `scipy.stats` takes seconds to import, so only the functions that need it do.
"""
