# expect: accepted
"""Data retrieval: which server raised the most errors on the day asked for."""
import random
from collections import Counter


class LogAnalysisEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        self._tools = {
            "servers": {"description": "Names of the servers.", "parameters": {"type": "object", "properties": {}}},
            "count_errors": {"description": "Errors of a server on a day.", "parameters": {"type": "object", "properties": {"server": {"type": "string"}, "day": {"type": "integer"}}, "required": ["server", "day"]}},
            "uptime": {"description": "Days since a server's last restart.", "parameters": {"type": "object", "properties": {"server": {"type": "string"}}, "required": ["server"]}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        names = [f"{rng.choice(['db', 'web', 'mq'])}-{n}" for n in rng.sample(range(10, 99), 5)]
        self.day = rng.randint(1, 28)
        counts = dict(zip(names, rng.sample(range(3, 400), 5)))
        self._state = {"errors": {(n, self.day): c for n, c in counts.items()}, "names": names, "uptime": {n: rng.randint(1, 90) for n in names}}
        self.counts = Counter(counts)
        self._expected_answer = self.counts.most_common(1)[0][0]
        return f"Which server raised the most errors on day {self.day}? Answer with its name.", {}

    def tool_servers(self):
        return ", ".join(self._state["names"])

    def tool_count_errors(self, server, day):
        return str(self._state["errors"].get((server, day), 0))

    def tool_uptime(self, server):
        return str(self._state["uptime"].get(server, "unknown"))

    def solution(self):
        calls = [{"name": "count_errors", "arguments": {"server": n, "day": self.day}} for n in self._state["names"]]
        return "\n".join([*(f"<tool_call>{json.dumps(c)}</tool_call>" for c in calls), f"<answer>{self._expected_answer}</answer>"])
