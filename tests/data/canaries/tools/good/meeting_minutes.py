# expect: accepted
"""Minutes: record who moved a motion, then the result of the vote that the members tell."""
import random


class MinutesEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=12, **kwargs):
        super().__init__(max_turns=max_turns)
        s = {"type": "string"}
        self._tools = {
            "ask_member": {"description": "How a member voted.", "parameters": {"type": "object", "properties": {"member": s}, "required": ["member"]}},
            "record_mover": {"description": "Record who moved a motion.", "parameters": {"type": "object", "properties": {"motion": {"type": "integer"}, "member": s}, "required": ["motion", "member"]}},
            "record_votes": {"description": "Record the number of votes in favour.", "parameters": {"type": "object", "properties": {"motion": {"type": "integer"}, "votes": {"type": "integer"}}, "required": ["motion", "votes"]}},
            "adjourn": {"description": "Say when the meeting ended.", "parameters": {"type": "object", "properties": {"time": s}, "required": ["time"]}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        members = rng.sample(["Alma", "Bruno", "Celia", "Dario", "Edda", "Fabio", "Gita"], 5)
        self._state = {"votes": {m: rng.random() < 0.5 for m in members}, "mover": {}, "result": {}, "ended": None}
        self.motion, self.mover, self.members = rng.randint(10, 99), members[0], members
        self.count = sum(self._state["votes"].values())
        mover, result = {self.motion: self.mover}, {self.motion: self.count}
        self._user_messages = [
            f"{self.mover} moved motion {self.motion}; put that into the minutes.",
            f"Ask {', '.join(members)} how they voted on it, and record the votes in favour.",
        ]
        self._message_criteria = [lambda st: st["mover"] == mover, lambda st: st["result"] == result]
        return self._user_messages[0], {}

    def tool_ask_member(self, member):
        vote = self._state["votes"].get(member)
        return ("Who?" if vote is None else "In favour." if vote else "Against.") + self._advance_if_done()

    def tool_record_mover(self, motion, member):
        if member not in self._state["votes"]:
            return "Not a member." + self._advance_if_done()
        self._state["mover"][motion] = member
        return "Recorded." + self._advance_if_done()

    def tool_record_votes(self, motion, votes):
        if motion not in self._state["mover"] or motion in self._state["result"]:
            return "Not possible." + self._advance_if_done()
        self._state["result"][motion] = votes
        return "Recorded." + self._advance_if_done()

    def tool_adjourn(self, time):
        self._state["ended"] = str(time)[:20]
        return "Adjourned." + self._advance_if_done()

    def solution(self):
        calls = [{"name": "record_mover", "arguments": {"motion": self.motion, "member": self.mover}}]
        calls.append({"name": "record_votes", "arguments": {"motion": self.motion, "votes": self.count}})
        return "\n".join([*(f"<tool_call>{json.dumps(c)}</tool_call>" for c in calls), "<answer>done</answer>"])
