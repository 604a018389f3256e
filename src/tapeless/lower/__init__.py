"""Core to Loop IR: where arrays live, how nests become loops, who may write in place."""
