# expect: controls
"""A project is finished when all its tasks are done, and the new project has none."""
import random


class AllTasksEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        s = {"type": "string"}
        self._tools = {
            "add_task": {"description": "Add a task to the project.", "parameters": {"type": "object", "properties": {"task": s}, "required": ["task"]}},
            "finish_task": {"description": "Finish a task.", "parameters": {"type": "object", "properties": {"task": s}, "required": ["task"]}},
            "show_project": {"description": "Tasks of the project.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        self.task = f"{random.Random(seed).choice(['Paint', 'Sand', 'Oil', 'Wax'])} bench {random.Random(seed).randint(1, 99)}"
        self._state = {"tasks": {}}
        self._user_messages = [f"Add the task {self.task} and finish it."]
        self._message_criteria = [lambda st: all(done for done in st["tasks"].values())]
        return self._user_messages[0], {}

    def tool_add_task(self, task):
        self._state["tasks"][str(task)[:60]] = False
        return "Added." + self._advance_if_done()

    def tool_finish_task(self, task):
        if task not in self._state["tasks"]:
            return "No such task." + self._advance_if_done()
        self._state["tasks"][task] = True
        return "Finished." + self._advance_if_done()

    def tool_show_project(self):
        return str(self._state["tasks"]) + self._advance_if_done()

    def solution(self):
        one, two = (json.dumps({"name": n, "arguments": {"task": self.task}}) for n in ("add_task", "finish_task"))
        return f"<tool_call>{one}</tool_call>\n<tool_call>{two}</tool_call>\n<answer>done</answer>"
