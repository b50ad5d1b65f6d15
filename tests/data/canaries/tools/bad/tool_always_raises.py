# expect: solution
"""The one tool that could do it uses a name that is not defined."""
import random


class UndefinedEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        self._tools = {
            "mute_channel": {"description": "Mute a channel.", "parameters": {"type": "object", "properties": {"channel": {"type": "string"}}, "required": ["channel"]}},
            "list_channels": {"description": "All channels.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        self._state = {"channels": rng.sample(["general", "random", "sales", "design", "ops"], 4), "muted": []}
        self.channel = self._state["channels"][0]
        channel = self.channel
        self._user_messages = [f"Mute the channel {channel}."]
        self._message_criteria = [lambda st: st["muted"] == [channel]]
        return self._user_messages[0], {}

    def tool_mute_channel(self, channel):
        if channel in self._state["channels"]:
            self._state["muted"].append(chanel)
        return "Muted." + self._advance_if_done()

    def tool_list_channels(self):
        return ", ".join(self._state["channels"]) + self._advance_if_done()

    def solution(self):
        return f'<tool_call>{{"name": "mute_channel", "arguments": {{"channel": "{self.channel}"}}}}</tool_call>\n<answer>done</answer>'
