"""Is some combination of a set calibrated, and is the truth in the set?"""
