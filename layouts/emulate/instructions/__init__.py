"""The instructions: functions that return the action of a statement, registered by opcode; and what they share."""
