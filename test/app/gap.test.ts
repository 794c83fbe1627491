import { pino } from 'pino';
import { GapKeeper } from '../../src/app/gap';
import { FOUND_UNPINNED, type Note } from '../../src/core/transition';

const found = (container: string): Note => ({
  level: 'warn',
  message: FOUND_UNPINNED,
  fields: { pod: 'ns/pod', container },
});

function keep(fromMs: number) {
  const ended: { seconds: number; containers: number }[] = [];
  const log: Record<string, unknown>[] = [];
  const logger = pino(
    { base: null, timestamp: false },
    { write: (line) => void log.push(JSON.parse(line) as Record<string, unknown>) },
  );
  return { gap: new GapKeeper({ log: logger, onEnded: (gap) => ended.push(gap) }, fromMs), ended, log };
}

test('it lasts from the last sign of life until the runtime has told of all containers', () => {
  const { gap, ended, log } = keep(10_000);
  expect(gap.current).toEqual({ from: '1970-01-01T00:00:10.000Z', containers: 0, names: [] });
  gap.begin(11_000); // still connecting: it is the same gap
  gap.note([found('a'), { level: 'info', message: 'pinned', fields: {} }, found('b')]);
  gap.end(12_500);
  const to = '1970-01-01T00:00:12.500Z';
  expect(gap.current).toEqual({ from: '1970-01-01T00:00:10.000Z', to, containers: 2, names: ['ns/pod/a', 'ns/pod/b'] });
  expect(ended).toEqual([{ seconds: 2.5, containers: 2 }]);
  expect(log).toMatchObject([{ level: 40, seconds: 2.5, containers: 2, names: ['ns/pod/a', 'ns/pod/b'] }]);
});

test('a connection that is lost opens the next one, which counts anew', () => {
  const { gap, ended, log } = keep(0);
  gap.note([found('a')]);
  gap.end(1_000);
  gap.end(1_500); // said twice
  gap.begin(5_000);
  gap.begin(6_000);
  expect(gap.current).toMatchObject({ from: '1970-01-01T00:00:05.000Z', containers: 0 });
  gap.end(6_000);
  expect(ended).toEqual([
    { seconds: 1, containers: 1 },
    { seconds: 1, containers: 0 },
  ]);
  expect(log.map(({ level }) => level)).toEqual([40, 30]); // nobody started without us: nothing to warn of
});

test('a clock that went back makes no negative gap', () => {
  const { gap, ended } = keep(5_000);
  gap.end(1_000);
  expect(ended).toEqual([{ seconds: 0, containers: 0 }]);
});

test('names are kept for some, all are counted', () => {
  const { gap } = keep(0);
  gap.note(Array.from({ length: 500 }, (_, i) => found(`c${i}`)));
  expect(gap.current?.containers).toBe(500);
  expect(gap.current?.names.length).toBeLessThan(50);
});
