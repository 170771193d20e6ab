"""Where rows are: resident in the driver as Arrow, or stored in segments that executors read by path."""
