"""Custom classes, in Python: congestion controls and middleboxes."""
