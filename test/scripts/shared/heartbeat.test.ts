import { loadScript } from '../../support/load-script';

interface Script {
  readonly withHeartbeat: <Result>(
    what: string,
    work: () => Promise<Result>,
    options?: { readonly log?: (line: string) => void; readonly everyMs?: number },
  ) => Promise<Result>;
}

let withHeartbeat: Script['withHeartbeat'];
beforeAll(async () => {
  ({ withHeartbeat } = await loadScript<Script>('shared/heartbeat.mjs'));
});

test('work that takes long has lines with its name and its time, until it ends', async () => {
  jest.useFakeTimers();
  try {
    const lines: string[] = [];
    let end = (_result: string): void => undefined;
    const work = withHeartbeat('the bundle', () => new Promise<string>((resolve) => (end = resolve)), {
      log: (line) => lines.push(line),
    });
    jest.advanceTimersByTime(29_999);
    expect(lines).toEqual([]);
    jest.advanceTimersByTime(30_001);
    expect(lines).toEqual(Array(2).fill(expect.stringMatching(/^the bundle: at work \(\d+ s\)$/)));
    end('done');
    expect(await work).toBe('done');
    jest.advanceTimersByTime(60_000);
    expect(lines).toHaveLength(2);
  } finally {
    jest.useRealTimers();
  }
});

test('work that fails has no more lines either', async () => {
  const failed = withHeartbeat('the bundle', () => Promise.reject(new Error('no disk')), { everyMs: 1 });
  await expect(failed).rejects.toThrow('no disk');
});
