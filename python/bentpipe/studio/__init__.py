"""The page of `bentpipe studio`: scenario, curves, globe and reasons at one moment, over the verbs of the library."""
