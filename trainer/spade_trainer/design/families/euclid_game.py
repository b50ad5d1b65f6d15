"""Who wins the game in which multiples of the smaller of two numbers are taken from the larger?"""

PLAYERS = ("first", "second")


class EuclidGameEnv(SingleTurn):
    def pose(self, draw, difficulty):
        largest = 10 * 2**difficulty
        wanted = draw.randrange(2)
        while True:
            self.pair = draw.randint(1, largest), draw.randint(1, largest)
            if self.winner() == wanted:
                break
        one, other = self.pair
        return (
            f"Two players take turns with the pair of numbers {one} and {other}. In a turn a player takes a positive "
            "multiple of the smaller number away from the larger; of equal numbers either counts as the smaller. The "
            "result must not be negative. Who brings a number to zero wins. Both play as well as possible: who wins, "
            "the player who moves first, or the second?"
        ), "first or second"

    def winner(self):
        """0 if the player to move wins, else 1: who first has a choice, or may end it, wins."""
        small, large = sorted(self.pair)
        turn = 0
        while large % small and large < 2 * small:
            small, large = large - small, small
            turn = 1 - turn
        return turn

    def correct(self, text):
        return text.lower() == PLAYERS[self.winner()]

    def answer(self):
        return PLAYERS[self.winner()]
