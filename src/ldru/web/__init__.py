"""The playground: a page on this machine that shows languages, networks and their machines."""
