"""Shared parts of all experiments: options, hosts, days of the sky, stopping rules, and commands that repeat them."""
