"""A share of all, such as that of deliveries which succeed."""

from scipy.special import betaincinv

from rockdove.capacity.estimate import Estimate


def share(good: int, number: int) -> Estimate:
    """With Clopper's and Pearson's bounds, which hold for few and for rare ones, too."""
    low = float(betaincinv(good, number - good + 1, 0.025)) if good else 0.0
    high = float(betaincinv(good + 1, number - good, 0.975)) if good < number else 1.0
    return Estimate(good / number, low, high)
