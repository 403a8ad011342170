// Nothing to call: linking it is enough. See CProcCheck.c.
