import { setImmediate } from 'node:timers/promises';

import type { AllocationStep } from '../../../src/core/allocation';
import { AllocationTrace } from '../../../src/app/status/allocation-trace';
import { NodeDriver } from '../../core/transition/node-driver';
import { silentFaults } from '../../support/faults';
import { specOf } from '../../support/spec-of';

test('the steps of an allocation are kept as long as its container', async () => {
  const node = new NodeDriver();
  const trace = new AllocationTrace(node.model, silentFaults());
  const run = async (history: string): Promise<void> => {
    node.run(history);
    trace.note(node.reported);
    await setImmediate();
  };
  await run('ask p/a 3');
  expect(trace.stepsOf('p/a#1').map(({ rule, took }) => `${rule} ${took.toString()}`)).toEqual([
    'whole-core 1,5',
    'single-cpu 4',
  ]);
  await run('ask p/b 0');
  expect(trace.stepsOf('p/b#1')).toEqual([]);
  node.run('created p/a; start p/a; end p/a; forget p/a');
  await run('ask q/a 1');
  expect(trace.stepsOf('p/a#1')).toEqual([]);
  expect(trace.stepsOf('q/a#1')).toHaveLength(1);
});

test('the steps of a planned allocation go to the container that gets it', async () => {
  const node = new NodeDriver();
  const trace = new AllocationTrace(node.model, silentFaults());
  const note = async (): Promise<void> => {
    trace.note(node.reported);
    await setImmediate();
  };
  node.send({ kind: 'synchronize', pods: [], containers: [] });
  for (const uid of ['p', 'q']) {
    node.send({ kind: 'pod-spec', spec: specOf(uid, 'a 1, b 1') });
    await note();
  }
  node.run('ask p/a 1');
  await note();
  expect(trace.stepsOf('p/a#1').map(({ rule, took }) => `${rule} ${took.toString()}`)).toEqual(['single-cpu 4']);
});

test('steps whose text throws are dropped', async () => {
  const node = new NodeDriver();
  const trace = new AllocationTrace(node.model, silentFaults());
  const broken = Object.defineProperty({} as AllocationStep, 'because', {
    get: () => {
      throw new Error('an internal fault');
    },
  });
  trace.note([
    {
      kind: 'pinned',
      subject: { containerId: 'a', podUid: 'p', pod: 'ns/p', container: 'a' },
      policy: 'static',
      cpus: undefined,
      because: '',
      steps: [broken],
    },
  ]);
  await setImmediate();
  expect(trace.stepsOf('a')).toEqual([]);
});
