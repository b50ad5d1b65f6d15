"""Names of everything in run storage, relative to the run's folder (design §8)."""

RUN = "run.json"
BATCH = "batch.json"
ROLLOUT = "rollout.json"
STEP = "step.json"
POLICY = "policy.json"
CHECKPOINT = "checkpoint.json"
VERIFICATION = "verification.json"
CORPUS_INDEX = "corpus-index.parquet"
CYCLES = "cycles"
ROLLOUTS = "rollouts"
STEPS = "steps"
POLICIES = "policies"
CHECKPOINTS = "checkpoints"
VERIFICATIONS = "verifications"


def cycle_folder(cycle: int) -> str:
    """The environments of one cycle."""
    return f"{CYCLES}/{cycle:04d}"


def topup_name(rollout: int) -> str:
    """The designs that top a cycle up for a rollout, below the cycle's folder."""
    return f"topup-{rollout:04d}"


def design_folder(cycle: int, rollout: int | None = None) -> str:
    """The designs of a cycle, or those that top it up for a rollout."""
    return cycle_folder(cycle) if rollout is None else f"{cycle_folder(cycle)}/{topup_name(rollout)}"


def rollout_folder(rollout: int) -> str:
    """The plays of one rollout."""
    return f"{ROLLOUTS}/{rollout:04d}"


def step_folder(rollout: int) -> str:
    """The optimiser step on one rollout; it makes policy version rollout + 1."""
    return f"{STEPS}/{rollout:04d}"


def policy_folder(version: int) -> str:
    """One policy version as Hugging Face safetensors."""
    return f"{POLICIES}/{version:04d}"


def checkpoint_folder(version: int) -> str:
    """One policy version as Megatron's distributed checkpoint, optimiser included."""
    return f"{CHECKPOINTS}/{version:04d}"


def verification_folder(digest: str) -> str:
    """The verdicts on one set of existing programs, by the digest of all that decides them."""
    return f"{VERIFICATIONS}/{digest[:16]}"


def judged_part(chunk: int, attempt: int) -> str:
    """The verdicts on one chunk of the programs, below the verification's folder. `attempt` is the Job's."""
    return f"judged-s{chunk:05d}-a{attempt:02d}.parquet"


def environment_id(cycle: int, slot: int) -> str:
    """Name of an environment all over a run: `c0004-s003`."""
    return f"c{cycle:04d}-s{slot:03d}"


def slot_of(environment: str) -> int:
    """The slot in an environment id."""
    return int(environment.rpartition("-s")[2])


def design_part(slot: int, attempt: int) -> str:
    """Everything one slot's design left behind, below the folder of the designs. `attempt` is the Job's."""
    return f"designs-s{slot:03d}-a{attempt:02d}.parquet"


def canaries_part(attempt: int) -> str:
    """What the gate said of the canaries, below the folder of the designs. `attempt` is the Job's."""
    return f"canaries-a{attempt:02d}.parquet"


def is_canaries_part(name: str) -> bool:
    """Whether a file of a cycle's folder is such a part."""
    return name.startswith("canaries-a") and name.endswith(".parquet")


def rejected_file(attempt: int) -> str:
    """What the Job's attempt at a cycle tried in vain, below the cycle's folder."""
    return f"rejected-a{attempt:02d}.json"


def is_rejected_file(name: str) -> bool:
    """Whether a file of a cycle's folder is such a file."""
    return name.startswith("rejected-a") and name.endswith(".json")


def rejected_attempt(name: str) -> int:
    """The Job's attempt in the name of such a file."""
    return int(name.removeprefix("rejected-a").removesuffix(".json"))


def program_file(slot: int, sha256: str) -> str:
    """An accepted program, below the cycle's folder; its name holds its content's digest."""
    return f"programs/s{slot:03d}-{sha256[:12]}.py"


def verdicts_file(sha256: str) -> str:
    """All verdicts of a cycle, below the cycle's folder; its name holds its content's digest."""
    return f"verdicts-{sha256[:12]}.parquet"


def episodes_part(slot: int, attempt: int) -> str:
    """All episodes of one environment in a rollout, below the rollout's folder. `attempt` is the Job's."""
    return f"episodes-s{slot:03d}-a{attempt:02d}.parquet"


def is_episodes_part(name: str) -> bool:
    """Whether a file of a rollout's folder is such a part."""
    return name.startswith("episodes-s") and name.endswith(".parquet")


def part_slot(name: str) -> int:
    """The slot in the name of a design or episodes part, or the chunk in that of a judged one."""
    return int(name.split("-")[1].removeprefix("s"))


def part_attempt(name: str) -> int:
    """The Job's attempt in the name of any part."""
    return int(name.rpartition("-a")[2].removesuffix(".parquet"))
