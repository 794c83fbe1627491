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

/** A keeper with clocks of its own: one that people set, one that never steps. The process stalled for `stalledMs` just now. */
function keep(fromMs: number, startMs = fromMs) {
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
  const pass = (ms: number): void => {
    clock.wallMs += ms;
    clock.steadyMs += ms;
  };
  return { gap, ended, log, clock, pass };
}

test('it lasts from the last sign of life until the runtime has told of all containers', () => {
  const { gap, ended, log, pass } = keep(10_000, 11_000);
  expect(gap.current).toEqual({ from: '1970-01-01T00:00:10.000Z', containers: 0, names: [] });
  gap.begin(); // still connecting: it is the same gap
  gap.note([found('a'), gone, found('b')]);
  pass(1_500);
  gap.end();
  const to = '1970-01-01T00:00:12.500Z';
  expect(gap.current).toEqual({ from: '1970-01-01T00:00:10.000Z', to, containers: 2, names: ['ns/pod/a', 'ns/pod/b'] });
  expect(ended).toEqual([{ seconds: 2.5, containers: 2 }]);
  expect(log).toMatchObject([{ level: 40, seconds: 2.5, containers: 2, names: ['ns/pod/a', 'ns/pod/b'] }]);
});

test('a connection that is lost opens the next one, which counts anew', () => {
  const { gap, ended, log, pass } = keep(0);
  gap.note([found('a')]);
  pass(1_000);
  gap.end();
  gap.end(); // said twice
  pass(4_000);
  gap.begin();
  pass(1_000);
  gap.begin();
  expect(gap.current).toMatchObject({ from: '1970-01-01T00:00:05.000Z', containers: 0 });
  gap.end();
  expect(ended).toEqual([
    { seconds: 1, containers: 1 },
    { seconds: 1, containers: 0 },
  ]);
  expect(log.map(({ level }) => level)).toEqual([40, 30]); // nobody started without us: nothing to warn of
});

test('a process that was stopped learns of the loss afterwards: the gap begins where it stopped', () => {
  const { gap, ended, clock, pass } = keep(0);
  gap.end();
  pass(60_000);
  clock.stalledMs = 45_000;
  gap.begin();
  expect(gap.current).toMatchObject({ from: '1970-01-01T00:00:15.000Z' });
  pass(100);
  gap.end();
  expect(gap.current).toMatchObject({ from: '1970-01-01T00:00:15.000Z', to: '1970-01-01T00:01:00.100Z' });
  expect(ended[1]).toEqual({ seconds: 45.1, containers: 0 });
});

test('who is found after the end of a gap is not counted with it, nor with the next', () => {
  const { gap, ended } = keep(0);
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

test('a state that was shown does not change afterwards', () => {
  const { gap } = keep(0);
  const shown = gap.current;
  gap.note([found('a')]);
  expect(shown).toMatchObject({ containers: 0, names: [] });
});

test.each([-86_400_000, 86_400_000])('a clock that is set by %d ms meanwhile changes no length', (stepMs) => {
  const { gap, ended, clock, pass } = keep(100_000_000);
  pass(500);
  clock.wallMs += stepMs;
  pass(500);
  gap.end();
  expect(ended).toEqual([{ seconds: 1, containers: 0 }]);
  const { from, to } = gap.current!;
  expect(Date.parse(to!) - Date.parse(from)).toBe(1_000);
});

test('a sign of life that is ahead of the clock makes no negative gap', () => {
  const { gap, ended } = keep(5_000, 1_000);
  gap.end();
  expect(ended).toEqual([{ seconds: 0, containers: 0 }]);
});

test('names are kept for some, all are counted', () => {
  const { gap } = keep(0);
  gap.note(Array.from({ length: 500 }, (_, i) => found(`c${i}`)));
  expect(gap.current?.containers).toBe(500);
  expect(gap.current?.names.length).toBeLessThan(50);
});
