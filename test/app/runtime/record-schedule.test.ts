import { RecordSchedule, type NextRecord } from '../../../src/app/runtime/record-schedule';
import { NodeDriver } from '../../core/transition/node-driver';

/** Two shared containers whose pool has shrunk since: their records are outdated. */
const node = new NodeDriver().run('make q/s 0; make r/t 0; make p/a 2');
const inKernel = (id: string) => ({
  ...node.model.containers.get(id)!,
  applied: node.model.containers.get(id)!.promise!,
});
const notInKernel = (id: string) => ({
  ...node.model.containers.get(id)!,
  applied: { ...node.model.containers.get(id)!.promise!, cpus: node.model.topology.online },
});

/** A schedule at 100 s whose runtime has done no work yet. `behind` and `urgent` are container ids. */
function scheduleOf({ behind = [], urgent = [] }: { behind?: string[]; urgent?: string[] }): RecordSchedule {
  const schedule = new RecordSchedule();
  schedule.refresh(node.model.containers, 100_000);
  for (const id of behind) schedule.add(inKernel(id));
  for (const id of urgent) schedule.add(notInKernel(id));
  return schedule;
}

function next(
  schedule: RecordSchedule,
  { nowMs = 100_000, inFlight = 0, isMaking = false } = {},
): NextRecord | undefined {
  return schedule.takeNext({ nowMs, inFlight, isMaking: () => isMaking });
}

test('an empty schedule has nothing to write', () => {
  expect(next(scheduleOf({}))).toBeUndefined();
});

test('a container that only the runtime can move comes before one whose kernel cpuset is right', () => {
  const schedule = scheduleOf({ behind: ['q/s#1'], urgent: ['r/t#1'] });
  expect([next(schedule), next(schedule), next(schedule)]).toEqual([
    { containerId: 'r/t#1' },
    { containerId: 'q/s#1' },
    undefined,
  ]);
});

test.each`
  given                                               | sets                     | inFlight | want
  ${'an urgent container with one update in flight'}  | ${{ urgent: ['q/s#1'] }} | ${1}     | ${{ containerId: 'q/s#1' }}
  ${'an urgent container with two updates in flight'} | ${{ urgent: ['q/s#1'] }} | ${2}     | ${undefined}
  ${'another container with one update in flight'}    | ${{ behind: ['q/s#1'] }} | ${1}     | ${undefined}
`('$given: next is $want', ({ sets, inFlight, want }: { sets: object; inFlight: number; want: unknown }) => {
  expect(next(scheduleOf(sets), { inFlight })).toEqual(want);
});

test('an outdated record waits 3 s after the last work of the runtime; an urgent one does not wait', () => {
  const schedule = scheduleOf({ behind: ['q/s#1'], urgent: ['r/t#1'] });
  schedule.noteEvent('container-created', 99_000);
  expect(next(schedule)).toEqual({ containerId: 'r/t#1' });
  expect(next(schedule)).toEqual({ delayMs: 2_000 });
  expect(next(schedule, { nowMs: 102_000 })).toEqual({ containerId: 'q/s#1' });
});

test('an update event does not delay records', () => {
  const schedule = scheduleOf({ behind: ['q/s#1'] });
  schedule.noteEvent('update-container', 100_000);
  expect(next(schedule)).toEqual({ containerId: 'q/s#1' });
});

test('a record waits while the runtime makes a sandbox that the model lacks, for 60 s at most', () => {
  const schedule = scheduleOf({ behind: ['q/s#1'] });
  expect(next(schedule, { isMaking: true })).toEqual({ delayMs: 200 });
  expect(next(schedule, { nowMs: 159_999, isMaking: true })).toEqual({ delayMs: 200 });
  expect(next(schedule, { nowMs: 160_000, isMaking: true })).toEqual({ containerId: 'q/s#1' });
});

test('after an update the next one is sent when the runtime has rested for as long as the update took', () => {
  const schedule = scheduleOf({ behind: ['q/s#1', 'r/t#1'] });
  schedule.noteWritten({ endMs: 100_000, tookMs: 30 });
  expect(next(schedule, { nowMs: 100_010 })).toEqual({ delayMs: 20 });
  expect(next(schedule, { nowMs: 100_030 })).toEqual({ containerId: 'q/s#1' });
});

test('refresh removes a container whose record is right again', () => {
  const schedule = scheduleOf({ behind: ['q/s#1'] });
  const container = inKernel('q/s#1');
  schedule.refresh(new Map([['q/s#1', { ...container, runtimeRecord: container.promise! }]]), 100_001);
  expect(next(schedule)).toBeUndefined();
});
