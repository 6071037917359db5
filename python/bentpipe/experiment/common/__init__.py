"""What all experiments share: options, hosts, days of the sky, stopping rules, and the commands that repeat them."""
