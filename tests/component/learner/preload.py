"""What the fork server of `ranks` imports: the remedies first, then everything heavy."""

from spade_trainer.learner import cpu_remedies

cpu_remedies.apply()

import spade_trainer.learner.group  # noqa: E402, F401
