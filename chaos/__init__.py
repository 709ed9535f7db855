"""What goes wrong on purpose: mutated files (`make fuzz`), kills, full disks, little memory (`make chaos`)."""
