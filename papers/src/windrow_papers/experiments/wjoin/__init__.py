"""The experiments on window joins: the 2002 report's figures 7 to 14 and the 2003 paper's study."""
