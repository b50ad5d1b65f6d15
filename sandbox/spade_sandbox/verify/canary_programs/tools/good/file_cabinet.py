# expect: accepted
"""Files: move the largest file of a folder into the archive, then delete the empty folder's marker."""
import random


class FileCabinetEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=12, **kwargs):
        super().__init__(max_turns=max_turns)
        s = {"type": "string"}
        self._tools = {
            "list_folder": {"description": "Files of a folder with sizes.", "parameters": {"type": "object", "properties": {"folder": s}, "required": ["folder"]}},
            "move_file": {"description": "Move a file to another folder.", "parameters": {"type": "object", "properties": {"file": s, "folder": s}, "required": ["file", "folder"]}},
            "delete_file": {"description": "Delete a file.", "parameters": {"type": "object", "properties": {"file": s}, "required": ["file"]}},
            "disk_usage": {"description": "Total size of everything.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        names = [f"{word}{rng.randint(10, 99)}.txt" for word in rng.sample(["note", "plan", "memo", "draft", "bill", "list"], 5)]
        self._state = {"where": {}, "size": dict(zip(names, rng.sample(range(10, 900), 5)))}
        for place, name in enumerate(names):
            self._state["where"][name] = "inbox" if place < 3 else "trash"
        self.big = max(names[:3], key=self._state["size"].get)
        self.old = min(names[3:], key=self._state["size"].get)
        moved = {**self._state["where"], self.big: "archive"}
        gone = {name: folder for name, folder in moved.items() if name != self.old}
        self._user_messages = ["Move the largest file of the inbox to the archive.", "Delete the smallest file of the trash."]
        self._message_criteria = [lambda st: st["where"] == moved, lambda st: st["where"] == gone]
        return self._user_messages[0], {}

    def tool_list_folder(self, folder):
        found = [f"{n} ({self._state['size'][n]})" for n, f in sorted(self._state["where"].items()) if f == folder]
        return (", ".join(found) or "empty") + self._advance_if_done()

    def tool_move_file(self, file, folder):
        if file not in self._state["where"] or folder not in ("inbox", "archive", "trash"):
            return "No such file or folder." + self._advance_if_done()
        self._state["where"][file] = folder
        return "Moved." + self._advance_if_done()

    def tool_delete_file(self, file):
        if self._state["where"].get(file) != "trash":
            return "Only files in the trash can be deleted." + self._advance_if_done()
        del self._state["where"][file]
        return "Deleted." + self._advance_if_done()

    def tool_disk_usage(self):
        return str(sum(self._state["size"].values())) + self._advance_if_done()

    def solution(self):
        return "\n".join([
            '<tool_call>{"name": "list_folder", "arguments": {"folder": "inbox"}}</tool_call>',
            f'<tool_call>{{"name": "move_file", "arguments": {{"file": "{self.big}", "folder": "archive"}}}}</tool_call>',
            f'<tool_call>{{"name": "delete_file", "arguments": {{"file": "{self.old}"}}}}</tool_call>',
            "<answer>done</answer>",
        ])
