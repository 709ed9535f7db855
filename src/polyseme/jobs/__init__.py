"""What every long job stands on: files and folders that are never half-written, locks, interrupts."""
