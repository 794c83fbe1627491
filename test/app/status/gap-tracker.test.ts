import { pino } from 'pino';
import { GapTracker } from '../../../src/app/status/gap-tracker';
import type { DomainEvent } from '../../../src/core/transition';

const found = (container: string): DomainEvent => ({
  kind: 'found-unpinned',
  subject: { podUid: 'pod', pod: 'ns/pod', container },
  placement: 'shared',
  because: 'it started without us',
});

const gone: DomainEvent = {
  kind: 'container-gone',
  subject: { podUid: 'pod', pod: 'ns/pod', container: 'x' },
  because: 'it ended',
};

/** A gap tracker with a wall clock, a steady clock, and a process that has just stalled for `stalledMs`. */
function startTracker(fromMs: number, startMs = fromMs) {
  const ended: { seconds: number; containers: number }[] = [];
  const log: Record<string, unknown>[] = [];
  const logger = pino(
    { base: null, timestamp: false },
    { write: (line) => void log.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const clock = { wallMs: startMs, steadyMs: 777, stalledMs: 0 };
  const gap = new GapTracker(
    {
      log: logger,
      onEnded: (gap) => ended.push(gap),
      stalledForMs: () => clock.stalledMs,
      wallMs: () => clock.wallMs,
      steadyMs: () => clock.steadyMs,
    },
    fromMs,
  );
  const advance = (ms: number): void => {
    clock.wallMs += ms;
    clock.steadyMs += ms;
  };
  return { gap, ended, log, clock, advance };
}

test('a gap lasts from the last heartbeat until the runtime has listed all containers', () => {
  const { gap, ended, log, advance } = startTracker(10_000, 11_000);
  expect(gap.current).toEqual({ from: '1970-01-01T00:00:10.000Z', containers: 0, names: [] });
  gap.begin(); // still connecting, so the same gap
  gap.note([found('a'), gone, found('b')]);
  advance(1_500);
  gap.end();
  const to = '1970-01-01T00:00:12.500Z';
  expect(gap.current).toEqual({ from: '1970-01-01T00:00:10.000Z', to, containers: 2, names: ['ns/pod/a', 'ns/pod/b'] });
  expect(ended).toEqual([{ seconds: 2.5, containers: 2 }]);
  expect(log).toMatchObject([{ level: 40, seconds: 2.5, containers: 2, names: ['ns/pod/a', 'ns/pod/b'] }]);
});

test('a lost connection begins a new gap with its own count', () => {
  const { gap, ended, log, advance } = startTracker(0);
  gap.note([found('a')]);
  advance(1_000);
  gap.end();
  gap.end(); // a second call
  advance(4_000);
  gap.begin();
  advance(1_000);
  gap.begin();
  expect(gap.current).toMatchObject({ from: '1970-01-01T00:00:05.000Z', containers: 0 });
  gap.end();
  expect(ended).toEqual([
    { seconds: 1, containers: 1 },
    { seconds: 1, containers: 0 },
  ]);
  expect(log.map(({ level }) => level)).toEqual([40, 30]); // no warning without a container
});

test('after a stall of the process the gap begins at the beginning of the stall', () => {
  const { gap, ended, clock, advance } = startTracker(0);
  gap.end();
  advance(60_000);
  clock.stalledMs = 45_000;
  gap.begin();
  expect(gap.current).toMatchObject({ from: '1970-01-01T00:00:15.000Z' });
  advance(100);
  gap.end();
  expect(gap.current).toMatchObject({ from: '1970-01-01T00:00:15.000Z', to: '1970-01-01T00:01:00.100Z' });
  expect(ended[1]).toEqual({ seconds: 45.1, containers: 0 });
});

test('a container found after a gap is counted neither in it nor in the next one', () => {
  const { gap, ended } = startTracker(0);
  gap.note([found('a')]);
  gap.end();
  const before = gap.current;
  gap.note([found('late')]);
  expect(gap.current).toEqual(before);
  gap.begin();
  expect(gap.current).toMatchObject({ containers: 0, names: [] });
  gap.end();
  expect(ended.map(({ containers }) => containers)).toEqual([1, 0]);
});

test('a value of `current` does not change afterwards', () => {
  const { gap } = startTracker(0);
  const shown = gap.current;
  gap.note([found('a')]);
  expect(shown).toMatchObject({ containers: 0, names: [] });
});

test.each([-86_400_000, 86_400_000])('setting the clock by %d ms does not change the length of a gap', (stepMs) => {
  const { gap, ended, clock, advance } = startTracker(100_000_000);
  advance(500);
  clock.wallMs += stepMs;
  advance(500);
  gap.end();
  expect(ended).toEqual([{ seconds: 1, containers: 0 }]);
  const { from, to } = gap.current!;
  expect(Date.parse(to!) - Date.parse(from)).toBe(1_000);
});

test('a heartbeat ahead of the clock gives a gap of 0 s', () => {
  const { gap, ended } = startTracker(5_000, 1_000);
  gap.end();
  expect(ended).toEqual([{ seconds: 0, containers: 0 }]);
});

test('500 containers are counted, and fewer than 50 names are kept', () => {
  const { gap } = startTracker(0);
  gap.note(Array.from({ length: 500 }, (_, i) => found(`c${i}`)));
  expect(gap.current?.containers).toBe(500);
  expect(gap.current?.names.length).toBeLessThan(50);
});
