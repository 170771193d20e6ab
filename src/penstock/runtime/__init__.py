"""The running system without Spark: chunks, queues, logs, dispatch, commit, control and the loop."""
