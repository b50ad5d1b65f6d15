"""Whatever is lost, late, repeated or dead, in any order: decisions never do a thing twice, and the run completes."""

from collections import Counter, defaultdict
from datetime import timedelta
from random import Random

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.support.tiny_world import TinyWorld
from tests.support.watched import WATCHED

from spade_contracts.labels import ROLE, Role
from spade_operator.records import BatchRecord, DeploymentRecord, RolloutRecord

ROLLOUTS, MAX_SANDBOXES = 3, 2
ONE_AT_A_TIME = (Role.LEARNER, Role.WORKER, Role.PREPARE)


class RunInTrouble(RuleBasedStateMachine):
    """An operator that is interrupted anywhere, in a world where pods die."""

    def __init__(self) -> None:
        super().__init__()
        self.retries = 0

    @initialize(learner_restarts=st.integers(0, 2), quiet_rounds=st.integers(0, 25), accepted=st.sampled_from((4, 6)))
    def create(self, learner_restarts: int, quiet_rounds: int, accepted: int) -> None:
        self.spec = {
            "switches": {"missingPrograms": "ToppedUp"},
            "rollouts": ROLLOUTS,
            "learner": {"restarts": learner_restarts, "nodes": 2},
            "sandbox": {"maxPods": MAX_SANDBOXES, "sessionsPerPod": 8, "quietSeconds": 1},
            "history": {"envBatches": 1, "rolloutJobs": 1},
        }
        self.world = TinyWorld(**self.spec)
        self.world.accepted = accepted
        self.status = self.world.run.status
        self.world.settle(quiet_rounds)

    @rule(random=st.randoms(use_true_random=False), rounds=st.integers(1, 10))
    def storm(self, random: Random, rounds: int) -> None:
        """Everybody moves in any order; news and actions are late, lost or repeated, and a pod may die."""
        world = self.world
        parts = [world.controllers, world.kubelet, world.work, world.poll, *([self.act] * 4), *([self.hear] * 4)]
        for _ in range(rounds):
            for part in random.sample(parts, len(parts)):
                if part in (self.act, self.hear):
                    part(random)
                elif random.random() < 0.8:
                    part()
            if random.random() < 0.15:
                self.kill_one(random.randint(0, 9), evicted=random.random() < 0.5)
            world.now += timedelta(seconds=random.choice((0, 0.2, 0.5)))
            self.keeps_its_word()

    def act(self, random: Random) -> None:
        """A pass does its actions in any order; if some are lost, it ends there."""
        wanted = self.world.decided(random.choice(self.world.wants_passes()))
        lost = random.random() < 0.2
        actions = random.sample(wanted.actions, len(wanted.actions))
        for action in actions[: random.randint(0, len(actions))] if lost else actions:
            self.world.do(action)
        if not lost:
            self.world.write(wanted)

    def hear(self, random: Random) -> None:
        """Some of what is new of a kind."""
        kind = random.choice(WATCHED)
        for _ in range(random.randint(0, len(self.world.news[kind]))):
            self.world.hear(kind, again=random.random() < 0.1)

    def kill_one(self, which: int, *, evicted: bool) -> None:
        """A pod that runs dies, if there is one."""
        running = [pod for pod in self.world.pods() if pod.phase == "Running" and not pod.meta.deleting]
        if running:
            self.world.die(running[which % len(running)], evicted=evicted)

    @rule()
    def restart_the_operator(self) -> None:
        self.world.started()

    @rule(rounds=st.integers(1, 12))
    def nothing_goes_wrong_for_a_while(self, rounds: int) -> None:
        self.world.settle(rounds)

    @rule(sessions=st.sampled_from((0, 5, 500)))
    def want(self, sessions: int) -> None:
        self.world.demand = sessions

    @rule(seconds=st.sampled_from((1, 10, 60)))
    def time_passes(self, seconds: int) -> None:
        self.world.wait(seconds)

    @rule(which=st.integers(0, 9), evicted=st.booleans())
    def die(self, which: int, evicted: bool) -> None:
        self.kill_one(which, evicted=evicted)

    @precondition(lambda self: self.world.holds("Failed"))
    @rule()
    def retry(self) -> None:
        self.retries += 1
        self.world.change(**self.spec, retry=self.retries)

    @invariant()
    def keeps_its_word(self) -> None:
        self.one_at_a_time()
        self.within_bounds()
        self.nothing_is_repeated_or_taken_back()
        self.status_is_true()

    def one_at_a_time(self) -> None:
        live = Counter(self.work_of(job.meta.uid) for job in self.world.jobs() if not (job.complete or job.failed))
        assert all(number == 1 for number in live.values()), live
        running = defaultdict(set)
        for pod in self.world.pods(*ONE_AT_A_TIME):
            if pod.phase in ("Pending", "Running"):
                running[self.work_of(pod.meta.owner_uid)].add(pod.job)
        assert all(len(jobs) == 1 for jobs in running.values()), running

    def work_of(self, job_uid: str) -> tuple[str, str]:
        """Role of a Job, gone or not, and the unit that it is an attempt at."""
        meta = self.world.manifests[job_uid]["metadata"]
        role = meta["labels"][ROLE]
        return role, meta["ownerReferences"][0]["uid"] if role == Role.WORKER else ""

    def within_bounds(self) -> None:
        for record in self.world.truth.values():
            if isinstance(record, DeploymentRecord):
                assert 1 <= record.replicas <= (MAX_SANDBOXES if record.meta.role is Role.SANDBOX else 1)
        for role, counts in self.world.run.status.restarts.items():
            assert counts.total <= self.world.died[Role(role)], role
        assert self.world.run.status.learner_attempt <= self.world.died[Role.LEARNER] + self.retries

    def nothing_is_repeated_or_taken_back(self) -> None:
        before, self.status = self.status, self.world.run.status
        assert self.status.rollout >= before.rollout
        assert (self.status.policy_version or 0) >= (before.policy_version or 0)
        assert self.world.targets == sorted(self.world.targets)
        if not self.retries:
            assert all(number == 1 for number in self.world.done.values()), self.world.done

    def status_is_true(self) -> None:
        status = self.world.run.status
        assert (status.policy_version or 0) <= self.world.trained <= status.rollout + 1
        for number in range(status.rollout):
            assert self.world.done["play", number]
        for number in range(1, ROLLOUTS):
            is_due = number % 2 == 1 and self.world.accepted < 6
            assert self.world.done["topup", number] >= (is_due and number < status.rollout)
            assert is_due or not self.world.done["topup", number]
        if self.world.holds("Complete"):
            assert (status.rollout, status.policy_version) == (ROLLOUTS, ROLLOUTS)

    def teardown(self) -> None:
        """Once nothing goes wrong any more, the run completes, and leaves its storage and its last units."""
        if not hasattr(self, "world"):
            return
        self.world.settle()
        while self.world.holds("Failed"):
            self.retry()
            self.world.settle()
        assert self.world.holds("Complete")
        assert not self.world.pods()
        assert not self.world.jobs()
        units = [r for r in self.world.truth.values() if isinstance(r, BatchRecord | RolloutRecord)]
        assert sorted(unit.meta.name for unit in units) == ["mini-c0001", "mini-r0002"]
        self.status_is_true()


TestRunInTrouble = RunInTrouble.TestCase
TestRunInTrouble.settings = settings(
    max_examples=40, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
