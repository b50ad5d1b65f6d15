# expect: accepted
"""Projects: close the task that blocks the release, then tag the release with the next version."""
import random


class TrackerEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=12, **kwargs):
        super().__init__(max_turns=max_turns)
        s = {"type": "string"}
        self._tools = {
            "list_tasks": {"description": "Tasks with state and what blocks what.", "parameters": {"type": "object", "properties": {}}},
            "close_task": {"description": "Close a task that nothing blocks.", "parameters": {"type": "object", "properties": {"task": s}, "required": ["task"]}},
            "current_version": {"description": "The latest release.", "parameters": {"type": "object", "properties": {}}},
            "tag_release": {"description": "Tag a release.", "parameters": {"type": "object", "properties": {"version": s}, "required": ["version"]}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        one, two, three = (f"T-{n}" for n in rng.sample(range(100, 999), 3))
        minor = rng.randint(1, 60)
        self._state = {"open": [one, two, three], "blocks": {one: "release", two: "nothing", three: "nothing"}, "version": f"2.{minor}", "tags": []}
        self.task, self.version = one, f"2.{minor + 1}"
        task, version, rest = one, self.version, sorted([two, three])
        self._user_messages = ["Close the task that blocks the release, and no other.", "Tag the release with the next minor version."]
        self._message_criteria = [lambda st: sorted(st["open"]) == rest, lambda st: st["tags"] == [version]]
        return self._user_messages[0], {}

    def tool_list_tasks(self):
        lines = [f"{t} is open and blocks {self._state['blocks'][t]}" for t in sorted(self._state["open"])]
        return ("; ".join(lines) or "No open task") + "." + self._advance_if_done()

    def tool_close_task(self, task):
        if task not in self._state["open"]:
            return "No such open task." + self._advance_if_done()
        self._state["open"].remove(task)
        return "Closed." + self._advance_if_done()

    def tool_current_version(self):
        return self._state["version"] + self._advance_if_done()

    def tool_tag_release(self, version):
        if any(t for t in self._state["open"] if self._state["blocks"][t] == "release"):
            return "The release is blocked." + self._advance_if_done()
        self._state["tags"].append(str(version)[:20])
        return "Tagged." + self._advance_if_done()

    def solution(self):
        calls = [
            {"name": "close_task", "arguments": {"task": self.task}},
            {"name": "tag_release", "arguments": {"version": self.version}},
        ]
        return "\n".join([*(f"<tool_call>{json.dumps(c)}</tool_call>" for c in calls), "<answer>done</answer>"])
