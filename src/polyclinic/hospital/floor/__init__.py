"""The floor of the hospital in simulated time: the clock, queues, and the way of a visit."""
