# expect: accepted
"""Support: open a ticket of the right priority, assign the agent with the least work, and leave a note."""
import random


class SupportEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=12, **kwargs):
        super().__init__(max_turns=max_turns)
        s = {"type": "string"}
        self._tools = {
            "create_ticket": {"description": "Open a ticket.", "parameters": {"type": "object", "properties": {"subject": s, "priority": {"type": "string", "enum": ["low", "normal", "urgent"]}}, "required": ["subject", "priority"]}},
            "list_agents": {"description": "Agents and their open tickets.", "parameters": {"type": "object", "properties": {}}},
            "assign": {"description": "Assign a ticket to an agent.", "parameters": {"type": "object", "properties": {"subject": s, "agent": s}, "required": ["subject", "agent"]}},
            "add_note": {"description": "Add a note to a ticket.", "parameters": {"type": "object", "properties": {"subject": s, "note": s}, "required": ["subject", "note"]}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        agents = dict(zip(["Ines", "Jonas", "Kofi", "Lena"], rng.sample(range(1, 30), 4)))
        self._state = {"agents": agents, "tickets": {f"Old case {n}": {"priority": "low", "agent": "Ines", "notes": []} for n in rng.sample(range(100), 2)}}
        self.subject = f"{rng.choice(['Printer', 'Router', 'Badge', 'Screen'])} {rng.randint(100, 999)}"
        self.priority = rng.choice(["low", "normal", "urgent"])
        self.agent = min(agents, key=agents.get)
        subject, priority, agent = self.subject, self.priority, self.agent
        self._user_messages = [
            f"Open a ticket named {subject} with priority {priority}.",
            "Assign it to the agent who has the fewest open tickets.",
        ]
        self._message_criteria = [
            lambda st: st["tickets"].get(subject, {}).get("priority") == priority,
            lambda st: st["tickets"].get(subject, {}).get("agent") == agent,
        ]
        return self._user_messages[0], {}

    def tool_create_ticket(self, subject, priority):
        if subject in self._state["tickets"] or priority not in ("low", "normal", "urgent"):
            return "Not opened." + self._advance_if_done()
        self._state["tickets"][subject] = {"priority": priority, "agent": None, "notes": []}
        return "Opened." + self._advance_if_done()

    def tool_list_agents(self):
        return ", ".join(f"{a}: {n}" for a, n in self._state["agents"].items()) + self._advance_if_done()

    def tool_assign(self, subject, agent):
        if subject not in self._state["tickets"] or agent not in self._state["agents"]:
            return "No such ticket or agent." + self._advance_if_done()
        self._state["tickets"][subject]["agent"] = agent
        return "Assigned." + self._advance_if_done()

    def tool_add_note(self, subject, note):
        if subject not in self._state["tickets"]:
            return "No such ticket." + self._advance_if_done()
        self._state["tickets"][subject]["notes"].append(str(note)[:200])
        return "Noted." + self._advance_if_done()

    def solution(self):
        calls = [
            {"name": "create_ticket", "arguments": {"subject": self.subject, "priority": self.priority}},
            {"name": "assign", "arguments": {"subject": self.subject, "agent": self.agent}},
        ]
        return "\n".join([*(f"<tool_call>{json.dumps(c)}</tool_call>" for c in calls), "<answer>done</answer>"])
