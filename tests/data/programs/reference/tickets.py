class TicketDeskEnv(ToolUseBaseEnv):
    """A support desk, as the reference's designers write tool tasks: instructions one at a time, own _advance_if_done."""

    def __init__(self, max_turns: int = 10, **kwargs):
        super().__init__(max_turns=max_turns, **kwargs)
        self.reset()

    def reset(self, seed: Optional[int] = None):
        super().reset(seed=seed)
        rng = random.Random(seed)
        numbers = rng.sample(range(100, 1000), 3)
        self._state = {
            "tickets": {n: {"status": "open", "agent": None, "minutes": rng.randint(5, 90)} for n in numbers},
            "agents": ["ines", "otto"],
            "listed": False,
            "declined": [],
        }
        oldest = max(numbers, key=lambda n: (self._state["tickets"][n]["minutes"], n))
        self._oldest = oldest
        self._tools = {
            "list_tickets": {
                "description": "List tickets by status.",
                "parameters": {
                    "type": "object",
                    "properties": {"status": {"type": "string", "enum": ["open", "closed"]}},
                    "required": ["status"],
                },
            },
            "assign_ticket": {
                "description": "Give a ticket to an agent.",
                "parameters": {
                    "type": "object",
                    "properties": {"ticket_id": {"type": "integer"}, "agent": {"type": "string"}},
                    "required": ["ticket_id", "agent"],
                },
            },
            "close_ticket": {
                "description": "Close an assigned ticket.",
                "parameters": {
                    "type": "object",
                    "properties": {"ticket_id": {"type": "integer"}},
                    "required": ["ticket_id"],
                },
            },
            "list_agents": {"description": "List agents.", "parameters": {"type": "object", "properties": {}}},
        }
        self._user_messages = [
            "Which tickets are open? Look them up.",
            "Give the ticket that has waited longest to ines.",
            "She has solved it: close it.",
        ]
        self._message_criteria = [
            lambda s: s["listed"],
            lambda s: s["tickets"][oldest]["agent"] == "ines",
            lambda s: s["tickets"][oldest]["status"] == "closed",
        ]
        self._current_msg = 0
        return f"[Step 1] {self._user_messages[0]}", {}

    def _advance_if_done(self) -> str:
        if self._current_msg < len(self._message_criteria) and self._message_criteria[self._current_msg](self._state):
            self._current_msg += 1
            if self._current_msg == len(self._user_messages):
                return "\n[ALL STEPS COMPLETE] Submit <answer>done</answer>."
            return f"\n[Step {self._current_msg + 1}] {self._user_messages[self._current_msg]}"
        return ""

    def tool_list_tickets(self, status: str) -> str:
        found = {n: t for n, t in self._state["tickets"].items() if t["status"] == status}
        self._state["listed"] = self._state["listed"] or status == "open"
        return json.dumps(found) + self._advance_if_done()

    def tool_list_agents(self) -> str:
        return ", ".join(self._state["agents"]) + self._advance_if_done()

    def tool_assign_ticket(self, ticket_id: int, agent: str) -> str:
        if agent not in self._state["agents"] or ticket_id not in self._state["tickets"]:
            return "Error: no such ticket or agent." + self._advance_if_done()
        self._state["tickets"][ticket_id]["agent"] = agent
        return f"Ticket {ticket_id} is now with {agent}." + self._advance_if_done()

    def tool_close_ticket(self, ticket_id: int) -> str:
        if self._state["tickets"].get(ticket_id, {}).get("agent") is None:
            return "Error: only assigned tickets can be closed." + self._advance_if_done()
        self._state["tickets"][ticket_id]["status"] = "closed"
        return f"Ticket {ticket_id} is closed." + self._advance_if_done()

    def _check_answer(self, answer: str) -> bool:
        return answer.strip().lower() == "done" and self._current_msg >= len(self._user_messages)

    def solution(self) -> str:
        calls = [
            ("list_tickets", {"status": "open"}),
            ("assign_ticket", {"ticket_id": self._oldest, "agent": "ines"}),
            ("close_ticket", {"ticket_id": self._oldest}),
        ]
        lines = [f"<tool_call>{json.dumps({'name': n, 'arguments': a})}</tool_call>" for n, a in calls]
        return "\n".join([*lines, "<answer>done</answer>"])
