// Runs in front of every test file. Nothing global yet: tests close what they open.
export {};
