"""The part of the runtime that is machine code: functions over words (`runtime/words.py`)."""
