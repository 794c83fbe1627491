// Runs in front of every test file; tests close what they open.

// The deadline of a test. It is long: on a busy machine the same work takes twenty times as long.
jest.setTimeout(180_000);
