import { once } from 'node:events';
import { TaskGroup } from '../../../src/app/lifecycle/task-group';

/** Runs until the signal, and notes its end. */
const waiting = (ended: string[], name: string) => ({
  run: async (signal: AbortSignal): Promise<void> => {
    if (!signal.aborted) await once(signal, 'abort');
    ended.push(name);
  },
});

test('tasks run until the signal from outside, and `end` resolves when all of them have ended', async () => {
  const stop = new AbortController();
  const tasks = new TaskGroup(stop.signal);
  const ended: string[] = [];
  for (const name of ['a', 'b']) tasks.start(waiting(ended, name));
  stop.abort('SIGTERM');
  expect(tasks.signal.reason).toBe('SIGTERM');
  await tasks.end();
  expect(ended).toEqual(['a', 'b']);
});

test('a task that rejects ends the others with its error, and `end` throws it', async () => {
  const tasks = new TaskGroup(new AbortController().signal);
  const ended: string[] = [];
  const fault = new Error('the socket is taken');
  tasks.start(waiting(ended, 'a'));
  tasks.start({ run: () => Promise.reject(fault) });
  await once(tasks.signal, 'abort');
  expect(tasks.signal.reason).toBe(fault);
  await expect(tasks.end()).rejects.toBe(fault);
  expect(ended).toEqual(['a']);
});
