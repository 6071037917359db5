"""BEEN: explicit notification of errors on the uplink, with packets of adaptive size (Govindarajan, Kousalya 2016)."""
