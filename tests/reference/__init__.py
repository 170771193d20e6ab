"""The compiled simulator against its plain reference, `penstock.simulator.plain`."""
