"""Python source to Core: staged evaluation of the syntax tree."""
