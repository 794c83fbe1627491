// Runs in front of every test file; tests close what they open.

// Until a test that hangs is given up. No test is to be quick: on a busy machine the same work takes twenty times as long.
jest.setTimeout(180_000);
