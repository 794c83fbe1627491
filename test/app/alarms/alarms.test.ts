import { pino } from 'pino';
import { Alarms } from '../../../src/app/alarms/alarms';

let logged: string[];
let changes: number;
let alarms: Alarms;
beforeEach(() => {
  logged = [];
  changes = 0;
  const write = (line: string): void => {
    const { msg, because } = JSON.parse(line) as { msg: string; because?: string };
    logged.push(because === undefined ? msg : `${msg}: ${because}`);
  };
  const now = () => '2026-11-21T10:00:00.000Z';
  alarms = new Alarms({ log: pino({}, { write }), now, onChange: () => changes++ });
});
const reasons = () => alarms.list().map(({ because }) => because);

test('raise keeps the first reason of an alarm; clear ends it once', () => {
  alarms.raise('repairs-stopped', 'c1', 'a');
  alarms.raise('repairs-stopped', 'c1', 'b');
  expect(reasons()).toEqual(['a']);
  alarms.clear('repairs-stopped', 'c1');
  alarms.clear('repairs-stopped', 'c1');
  expect(logged).toEqual(['alarm: a', 'alarm is over']);
  expect(changes).toBe(2);
});

test.each`
  name                                                       | reasonsGiven        | want                             | left
  ${'no reason: no alarm'}                                   | ${[undefined]}      | ${[]}                            | ${[]}
  ${'the same reason twice: one alarm'}                      | ${['a', 'a']}       | ${['alarm: a']}                  | ${['a']}
  ${'another reason: a new log line, and the alarm goes on'} | ${['a', 'b']}       | ${['alarm: a', 'alarm: b']}      | ${['b']}
  ${'no reason any more: the alarm is over'}                 | ${['a', undefined]} | ${['alarm: a', 'alarm is over']} | ${[]}
`('$name', ({ reasonsGiven, want, left }: { reasonsGiven: (string | undefined)[]; want: string[]; left: string[] }) => {
  for (const because of reasonsGiven) alarms.update('kubelet-cpu-manager', '', because);
  expect(logged).toEqual(want);
  expect(reasons()).toEqual(left);
  expect(changes).toBe(want.length);
});
