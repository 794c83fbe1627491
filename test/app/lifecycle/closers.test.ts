import { withClosers } from '../../../src/app/lifecycle/closers';

test('closers run in reverse order, also when the work throws, and its error is thrown', async () => {
  const closed: number[] = [];
  const work = withClosers((onClose) => {
    for (const i of [1, 2, 3]) onClose(() => void closed.push(i));
    return Promise.reject(new Error('the work'));
  });
  await expect(work).rejects.toThrow('the work');
  expect(closed).toEqual([3, 2, 1]);
});

test('a closer that fails does not keep the others from running, and its error is thrown at the end', async () => {
  const closed: number[] = [];
  const work = withClosers(async (onClose) => {
    onClose(() => void closed.push(1));
    onClose(() => Promise.reject(new Error('the closer')));
  });
  await expect(work).rejects.toThrow('the closer');
  expect(closed).toEqual([1]);
});

test('a closer that never ends is given up at the deadline: the others run, and the error names the deadline', async () => {
  const closed: number[] = [];
  const work = withClosers(
    async (onClose) => {
      onClose(() => void closed.push(1));
      onClose(() => new Promise<void>(() => undefined));
      onClose(() => new Promise<void>(() => undefined));
    },
    { deadlineMs: 10 },
  );
  await expect(work).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED', message: expect.stringContaining('0.01 s') });
  expect(closed).toEqual([1]);
});
