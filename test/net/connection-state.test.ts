import { ConnectionTracker, LastProblem } from '../../src/net/connection-state';

describe('the state of a connection', () => {
  function track() {
    let seconds = 0;
    const now = () => new Date(1_000 * ++seconds).toISOString();
    return new ConnectionTracker({ state: 'connecting', since: now(), reason: '' }, now);
  }

  test('the same state and reason again change nothing', () => {
    const connection = track();
    const before = connection.current;
    expect(connection.become('connecting')).toBe(false);
    expect(connection.current).toBe(before);
  });

  test('a new reason keeps the time at which the state began', () => {
    const connection = track();
    expect(connection.become('connecting', 'nobody listens')).toBe(true);
    expect(connection.current).toEqual({
      state: 'connecting',
      since: '1970-01-01T00:00:01.000Z',
      reason: 'nobody listens',
    });
  });

  test('a new state begins now', () => {
    const connection = track();
    expect(connection.become('ready')).toBe(true);
    expect(connection.current).toEqual({ state: 'ready', since: '1970-01-01T00:00:02.000Z', reason: '' });
  });
});

describe('the last problem', () => {
  test('is new once, until another one comes', () => {
    const problem = new LastProblem();
    expect(['a', 'a', 'b', 'a'].map((reason) => problem.isNew(reason))).toEqual([true, false, true, true]);
  });

  test('is new again when it was over in between', () => {
    const problem = new LastProblem();
    problem.isNew('a');
    expect(problem.clear()).toBe(true);
    expect(problem.isSet).toBe(false);
    expect(problem.clear()).toBe(false);
    expect(problem.isNew('a')).toBe(true);
    expect(problem.isSet).toBe(true);
  });
});
