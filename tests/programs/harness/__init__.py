"""What tests/programs/run and bench/programs/run are made of."""
