# expect: accepted
"""A clinic: read a patient's doctor, and book the first free slot there."""
import random


class ClinicEnv(ToolUseBaseEnv):
    def __init__(self, max_turns=10, **kwargs):
        super().__init__(max_turns=max_turns)
        s = {"type": "string"}
        self._tools = {
            "doctor_of": {"description": "A patient's doctor.", "parameters": {"type": "object", "properties": {"patient": s}, "required": ["patient"]}},
            "free_slots": {"description": "Free slots of a doctor.", "parameters": {"type": "object", "properties": {"doctor": s}, "required": ["doctor"]}},
            "book_slot": {"description": "Book a slot.", "parameters": {"type": "object", "properties": {"patient": s, "doctor": s, "slot": {"type": "integer"}}, "required": ["patient", "doctor", "slot"]}},
            "pharmacy": {"description": "The nearest pharmacy.", "parameters": {"type": "object", "properties": {}}},
        }
        self.reset()

    def reset(self, seed=None):
        super().reset(seed)
        rng = random.Random(seed)
        doctors = ["Dr Abe", "Dr Bosch", "Dr Cruz"]
        patients = [f"P{n}" for n in rng.sample(range(100, 999), 3)]
        self._state = {
            "doctor": {p: rng.choice(doctors) for p in patients},
            "slots": {d: sorted(rng.sample(range(800, 1800, 15), 4)) for d in doctors},
            "booked": [],
        }
        self.patient = patients[0]
        self.doctor = self._state["doctor"][self.patient]
        self.slot = self._state["slots"][self.doctor][0]
        booked = [[self.patient, self.doctor, self.slot]]
        self._user_messages = [f"Book the first free slot for patient {self.patient} with their own doctor."]
        self._message_criteria = [lambda st: st["booked"] == booked]
        return self._user_messages[0], {}

    def tool_doctor_of(self, patient):
        return self._state["doctor"].get(patient, "unknown") + self._advance_if_done()

    def tool_free_slots(self, doctor):
        return ", ".join(map(str, self._state["slots"].get(doctor, []))) + self._advance_if_done()

    def tool_book_slot(self, patient, doctor, slot):
        if patient not in self._state["doctor"] or slot not in self._state["slots"].get(doctor, []):
            return "Not possible." + self._advance_if_done()
        self._state["slots"][doctor].remove(slot)
        self._state["booked"].append([patient, doctor, slot])
        return "Booked." + self._advance_if_done()

    def tool_pharmacy(self):
        return "Round the corner." + self._advance_if_done()

    def solution(self):
        calls = [
            {"name": "doctor_of", "arguments": {"patient": self.patient}},
            {"name": "book_slot", "arguments": {"patient": self.patient, "doctor": self.doctor, "slot": self.slot}},
        ]
        return "\n".join([*(f"<tool_call>{json.dumps(c)}</tool_call>" for c in calls), "<answer>done</answer>"])
