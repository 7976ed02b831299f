"""A package, so that no other one of this name, which some libraries install, is found in its place."""
