// Runs in front of every test file; tests close what they open.
import { slowness } from './wait-until';

// The deadline of a test ends those that hang. On a busy machine the same work takes many times as long.
jest.setTimeout(300_000 * slowness());
