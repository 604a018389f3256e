"""The programs, one file each: the functions as a user writes them, then `MODULE`."""
