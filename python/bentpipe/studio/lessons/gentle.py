"""The congestion control of the lesson `custom-congestion-control`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bentpipe as bp

if TYPE_CHECKING:
    from bentpipe._core import Congestion, PathState


class Gentle(bp.CongestionControl):
    """Reno that keeps 90 % of its window after a loss."""

    kept = 0.9

    def on_congestion(self, why: Congestion, path: PathState) -> None:
        """Keep 90 % of the window."""
        window = path.as_ssthresh(path.share(why.left(after_loss=self.kept)))
        self.reduce(window, window)
