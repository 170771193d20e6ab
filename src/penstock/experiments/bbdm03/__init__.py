"""BBDM03 §5 again: the queues of five plans over time, under Chain, Greedy, FIFO and round robin."""
