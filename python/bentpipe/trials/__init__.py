"""Changes that can be tried for a scenario, and the judgement of their effects on each kind of flow."""
