import { setImmediate } from 'node:timers/promises';

import type { AllocationStep } from '../../../src/core/allocation';
import { AllocationTrace } from '../../../src/app/status/allocation-trace';
import { NodeDriver } from '../../core/transition/node-driver';
import { silentFaults } from '../../support/faults';
import { specOf } from '../../support/spec-of';

test('how CPUs were chosen is known as long as the container lives', async () => {
  const node = new NodeDriver();
  const book = new AllocationTrace(node.model, silentFaults());
  const run = async (history: string): Promise<void> => {
    node.run(history);
    book.note(node.reported);
    await setImmediate();
  };
  await run('ask p/a 3');
  expect(book.stepsOf('p/a#1').map(({ rule, took }) => `${rule} ${took.toString()}`)).toEqual([
    'whole-core 1,5',
    'single-cpu 4',
  ]);
  await run('ask p/b 0');
  expect(book.stepsOf('p/b#1')).toEqual([]);
  node.run('created p/a; start p/a; end p/a; forget p/a');
  await run('ask q/a 1');
  expect(book.stepsOf('p/a#1')).toEqual([]);
  expect(book.stepsOf('q/a#1')).toHaveLength(1);
});

test('how CPUs were chosen that were planned is known of the container that gets them', async () => {
  const node = new NodeDriver();
  const book = new AllocationTrace(node.model, silentFaults());
  const note = async (): Promise<void> => {
    book.note(node.reported);
    await setImmediate();
  };
  node.send({ kind: 'synchronize', pods: [], containers: [] });
  for (const uid of ['p', 'q']) {
    node.send({ kind: 'pod-spec', spec: specOf(uid, 'a 1, b 1') });
    await note();
  }
  node.run('ask p/a 1');
  await note();
  expect(book.stepsOf('p/a#1').map(({ rule, took }) => `${rule} ${took.toString()}`)).toEqual(['single-cpu 4']);
});

test('steps whose text can not be made end nothing', async () => {
  const node = new NodeDriver();
  const book = new AllocationTrace(node.model, silentFaults());
  const broken = Object.defineProperty({} as AllocationStep, 'because', {
    get: () => {
      throw new Error('a fault of our own');
    },
  });
  book.note([
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
  expect(book.stepsOf('a')).toEqual([]);
});
