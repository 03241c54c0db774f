"""Calls: arguments, overload resolution, functions of libraries, launches."""
