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

test('what is raised again is no news; it is over once', () => {
  alarms.raise('repairs-stopped', 'c1', 'a');
  alarms.raise('repairs-stopped', 'c1', 'b');
  expect(reasons()).toEqual(['a']);
  alarms.clear('repairs-stopped', 'c1');
  alarms.clear('repairs-stopped', 'c1');
  expect(logged).toEqual(['alarm: a', 'alarm is over']);
  expect(changes).toBe(2);
});

test.each`
  name                                               | told                | want                             | left
  ${'nothing to tell is no news'}                    | ${[undefined]}      | ${[]}                            | ${[]}
  ${'the same is told once'}                         | ${['a', 'a']}       | ${['alarm: a']}                  | ${['a']}
  ${'another reason is told, and nothing was over'}  | ${['a', 'b']}       | ${['alarm: a', 'alarm: b']}      | ${['b']}
  ${'it is over when there is nothing more to tell'} | ${['a', undefined]} | ${['alarm: a', 'alarm is over']} | ${[]}
`('$name', ({ told, want, left }: { told: (string | undefined)[]; want: string[]; left: string[] }) => {
  for (const because of told) alarms.update('kubelet-cpu-manager', '', because);
  expect(logged).toEqual(want);
  expect(reasons()).toEqual(left);
  expect(changes).toBe(want.length);
});
