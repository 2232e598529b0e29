"""The experiments of Kang, Naughton and Viglas: what the structures of windows cost."""
