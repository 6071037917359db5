import pytest
from bentpipe_mycc import MyCc, Shed, Spread

from bentpipe import testing


@pytest.mark.parametrize("check", testing.CONGESTION_CONTROL)
def test_mycc(check):
    check(MyCc)


@pytest.mark.parametrize("check", testing.MIDDLEBOX)
def test_shed(check):
    check(Shed)


@pytest.mark.parametrize("check", testing.SCHEDULER)
def test_spread(check):
    check(Spread)
