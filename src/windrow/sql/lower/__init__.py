"""From a bound SELECT to logical nodes."""
