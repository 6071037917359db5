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
from .schedulers import SCHEDULER as SCHEDULER
from .schedulers import bonds_a_transfer as bonds_a_transfer
from .schedulers import check_scheduler as check_scheduler
from .schedulers import chooses_a_usable_subflow as chooses_a_usable_subflow
from .schedulers import copies_choose_alike as copies_choose_alike
from .schedulers import keeps_choices_short as keeps_choices_short
from .schedulers import keeps_little_of_views as keeps_little_of_views
from .schedulers import repeats_its_choices as repeats_its_choices
from .schedulers import sends_when_all_is_idle as sends_when_all_is_idle
from .schedulers import survives_failing_subflows as survives_failing_subflows
from .schedulers import survives_hostile_views as survives_hostile_views
from .schedulers import travels_to_other_processes as travels_to_other_processes

__all__ = [
    "CONGESTION_CONTROL",
    "MIDDLEBOX",
    "SCHEDULER",
    "bonds_a_transfer",
    "check_congestion_control",
    "check_middlebox",
    "check_scheduler",
    "chooses_a_usable_subflow",
    "completes_a_transfer",
    "copies_choose_alike",
    "copies_do_not_share",
    "keeps_a_possible_window",
    "keeps_choices_short",
    "keeps_hooks_short",
    "keeps_little",
    "keeps_little_of_views",
    "lets_a_transfer_pass",
    "repeats_its_choices",
    "repeats_itself",
    "repeats_with_equal_seeds",
    "rests_while_the_application_does",
    "sends_when_all_is_idle",
    "survives_failing_subflows",
    "survives_hostile_links",
    "survives_hostile_paths",
    "survives_hostile_views",
    "takes_back_a_needless_reduction",
    "travels_to_other_processes",
]
