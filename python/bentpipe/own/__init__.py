"""Custom classes, in Python: congestion controls, middleboxes and schedulers."""
