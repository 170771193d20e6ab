"""BBDM03 §5 reproduced: the queues of five plans over time, under Chain, Greedy, FIFO and round robin."""
