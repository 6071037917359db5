from .checks import CONGESTION_CONTROL as CONGESTION_CONTROL
from .checks import MIDDLEBOX as MIDDLEBOX
from .checks import check_congestion_control as check_congestion_control
from .checks import check_middlebox as check_middlebox
from .checks import completes_a_transfer as completes_a_transfer
from .checks import copies_do_not_share as copies_do_not_share
from .checks import keeps_a_possible_window as keeps_a_possible_window
from .checks import keeps_hooks_short as keeps_hooks_short
from .checks import keeps_little as keeps_little
from .checks import lets_a_transfer_pass as lets_a_transfer_pass
from .checks import repeats_itself as repeats_itself
from .checks import repeats_with_equal_seeds as repeats_with_equal_seeds
from .checks import rests_while_the_application_does as rests_while_the_application_does
from .checks import survives_hostile_links as survives_hostile_links
from .checks import survives_hostile_paths as survives_hostile_paths
from .checks import takes_back_a_needless_reduction as takes_back_a_needless_reduction

__all__ = [
    "CONGESTION_CONTROL",
    "MIDDLEBOX",
    "check_congestion_control",
    "check_middlebox",
    "completes_a_transfer",
    "copies_do_not_share",
    "keeps_a_possible_window",
    "keeps_hooks_short",
    "keeps_little",
    "lets_a_transfer_pass",
    "repeats_itself",
    "repeats_with_equal_seeds",
    "rests_while_the_application_does",
    "survives_hostile_links",
    "survives_hostile_paths",
    "takes_back_a_needless_reduction",
]
