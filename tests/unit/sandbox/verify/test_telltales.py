"""A told solution is suspected only if the text holds all of it and the player did not say it first."""

from tests.unit.sandbox.verify.judged import judged

from spade_sandbox.verify.moves import Episode, Look, Move, Outcome, Solved
from spade_sandbox.verify.solutions import boxed
from spade_sandbox.verify.telltales import Suspicion, secrets_of, suspicions
from spade_sandbox.verify.trial import Program

CODES = ("badger falcon", "monkey osprey", "walrus coyote")
OTHER = Move(boxed("name monkey"))
HINT = Move(boxed("hint"))


def program(*outcomes: Outcome, moves: tuple[Move, ...], opening: str = "A lock.") -> Program:
    """Three seeds, each with a solution of two words; and one episode from the first."""
    found = judged("class ProbeEnv: ...")
    texts = ["\n".join(boxed(f"name {word}") for word in code.split()) for code in CODES]
    found.looks = [Look(seed, opening, {}, text, "") for seed, text in zip(found.seeds, texts, strict=False)]
    found.solved = Solved(
        True,
        {
            look.seed: tuple(Move(boxed(f"name {word}")) for word in code.split())
            for look, code in zip(found.looks, CODES, strict=True)
        },
        early=False,
        outcomes=(),
    )
    found.episodes = [Episode(found.seeds[0], opening, list(moves), list(outcomes))]
    return found


def suspected(subject: Program) -> list[Suspicion]:
    assert subject.solved is not None
    return list(suspicions(subject, subject.solved, secrets_of(subject, subject.solved)))


def test_whole_solution_in_an_answer_is_suspected() -> None:
    (found,) = suspected(program(Outcome("Try badger, then falcon."), moves=(HINT,)))
    assert not found.missed


def test_a_part_of_it_is_not_unless_a_wrong_first_move_was_told() -> None:
    assert not suspected(program(Outcome("It begins with badger."), moves=(HINT,)))
    (found,) = suspected(program(Outcome("monkey is not badger."), moves=(OTHER,)))
    assert found.missed


def test_what_is_told_at_the_end_of_an_episode_is_no_leak() -> None:
    assert not suspected(program(Outcome("It was badger, falcon.", terminated=True), moves=(HINT,)))


def test_what_the_player_said_is_no_leak() -> None:
    said = Move(boxed("badger falcon"))
    assert not suspected(program(Outcome("badger falcon is no command."), moves=(said,)))


def test_what_the_solutions_own_moves_find_out_is_no_leak() -> None:
    own = Move(boxed("name badger"))
    assert not suspected(program(Outcome("Right: badger. falcon is next."), moves=(own,)))


def test_words_of_the_opening_are_no_secret() -> None:
    subject = program(Outcome("Try badger, then falcon."), moves=(HINT,), opening="Is it badger or falcon?")
    assert not suspected(subject)


def test_wrong_first_move_is_a_miss_even_if_it_is_told_everything() -> None:
    (found,) = suspected(program(Outcome("monkey? It is badger, then falcon."), moves=(OTHER,)))
    assert found.missed
