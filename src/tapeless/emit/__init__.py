"""Loop IR to target languages: LLVM text, C and its dialects."""
