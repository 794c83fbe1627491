import { pino } from 'pino';
import { HealthState } from '../../../src/admin/health-state';
import { Alarms } from '../../../src/app/alarms/alarms';
import { RoundWatch } from '../../../src/app/reconcile/round-watch';

let stop: AbortController;
let health: HealthState;
let alarms: Alarms;
beforeEach(() => {
  jest.useFakeTimers();
  stop = new AbortController();
  health = new HealthState();
  health.set('', 'SERVING');
  alarms = new Alarms({ log: pino({ level: 'silent' }), now: () => '2026-01-01T00:00:00Z', onChange: () => undefined });
});
afterEach(() => {
  stop.abort();
  jest.useRealTimers();
});

const watchOf = (periodMs: number): RoundWatch => new RoundWatch({ periodMs, health, alarms, signal: stop.signal });
const seen = () => ({ health: health.get(''), alarms: alarms.list().map(({ kind }) => kind) });
const FINE = { health: 'SERVING', alarms: [] };
const STUCK = { health: 'NOT_SERVING', alarms: ['rounds-stuck'] };

test.each`
  periodMs  | fineUntilMs | stuckByMs
  ${1_000}  | ${30_000}   | ${35_000}
  ${20_000} | ${60_000}   | ${70_000}
`(
  'with a period of $periodMs ms and no round that ends, health stays until $fineUntilMs ms and is NOT_SERVING by $stuckByMs ms',
  ({ periodMs, fineUntilMs, stuckByMs }: Record<string, number>) => {
    watchOf(periodMs!);
    jest.advanceTimersByTime(fineUntilMs!);
    expect(seen()).toEqual(FINE);
    jest.advanceTimersByTime(stuckByMs! - fineUntilMs!);
    expect(seen()).toEqual(STUCK);
  },
);

test('rounds that end in time keep the health, and the first one that ends after a stop restores it', () => {
  const watch = watchOf(10_000);
  for (let i = 0; i < 20; i++) {
    jest.advanceTimersByTime(10_000);
    watch.noteEnd();
  }
  expect(seen()).toEqual(FINE);
  jest.advanceTimersByTime(60_000);
  expect(seen()).toEqual(STUCK);
  watch.noteEnd();
  expect(seen()).toEqual(FINE);
});

test('after the signal was aborted a round that ends changes no health', () => {
  const watch = watchOf(10_000);
  jest.advanceTimersByTime(60_000);
  stop.abort();
  watch.noteEnd();
  expect(seen()).toEqual(STUCK);
  expect(jest.getTimerCount()).toBe(0);
});
