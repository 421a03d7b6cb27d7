"""The overlap of two single intervals, written out, to hold against that of many at once."""

Interval = tuple[float, float]


def overlap(real: Interval, synthetic: Interval) -> float:
    """Give the mean of the shares that the common part has of both intervals, cut at 0."""
    low, high = max(real[0], synthetic[0]), min(real[1], synthetic[1])
    if high < low:
        return 0.0
    widths = [end - start for start, end in (real, synthetic)]
    return sum((high - low) / width if width else 1.0 for width in widths) / 2
