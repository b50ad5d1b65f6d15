# expect: accepted
"""Weather stations: which station had the widest span of temperatures, and how wide was it?"""
import json, random
class WeatherEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=12, **kwargs):
        super().__init__(max_turns=max_turns)
        self._tools = {
            "stations": {"description": "Names of all stations.", "parameters": {"type": "object", "properties": {}}},
            "readings": {"description": "Temperatures of a station.", "parameters": {"type": "object", "properties": {"station": {"type": "string"}}, "required": ["station"]}},
            "wind": {"description": "Wind of a station.", "parameters": {"type": "object", "properties": {"station": {"type": "string"}}, "required": ["station"]}},
        }
        self.reset()
    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        names = rng.sample(["Alder", "Birch", "Cedar", "Elm", "Fir", "Hazel", "Larch"], 4)
        self._state = {"data": {n: [round(rng.uniform(-15, 35), 1) for _ in range(6)] for n in names}, "wind": {n: rng.randint(1, 90) for n in names}}
        self._expected_answer = str(round(max(max(v) - min(v) for v in self._state["data"].values()), 1))
        return "Take the station whose temperatures span the widest range. How many degrees is that range, to one decimal?", {}
    def tool_stations(self):
        return ", ".join(self._state["data"])
    def tool_readings(self, station):
        got = self._state["data"].get(station) if isinstance(station, str) else None
        return "No such station." if got is None else " ".join(map(str, got))
    def tool_wind(self, station):
        got = self._state["wind"].get(station) if isinstance(station, str) else None
        return "No such station." if got is None else f"{got} km/h"
    def solution(self):
        lines = ['<tool_call>{"name": "stations", "arguments": {}}</tool_call>']
        lines += ["<tool_call>" + json.dumps({"name": "readings", "arguments": {"station": n}}) + "</tool_call>" for n in self._state["data"]]
        return "\n".join(lines) + f"\n<answer>{self._expected_answer}</answer>"
