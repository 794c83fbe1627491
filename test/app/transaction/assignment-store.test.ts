import pino from 'pino';
import { openAssignmentStore } from '../../../src/app/transaction/assignment-store';
import { parseCpuList } from '../../../src/core/cpuset';
import { NodeModel } from '../../../src/core/model/node-model';
import { EIGHT_CPUS, settingsWith } from '../../core/transition/node-driver';
import { assignmentOf } from '../../state/support/assignments';
import { useTempDirs } from '../../state/support/temp-dir';
import { specOf } from '../../support/spec-of';

const makeDir = useTempDirs();

function openStore(stateDir: string) {
  const lines: { msg: string; pod?: string }[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[number]) });
  const model = new NodeModel(EIGHT_CPUS, settingsWith());
  const store = openAssignmentStore({ stateDir, version: '0.1.0', model, log });
  return { store, model, lines };
}

test('a pod spec of 1 MiB is not saved and is named once in the log; assignments and other pods are saved', () => {
  const stateDir = makeDir();
  const assignments = [assignmentOf('a', '2-3')];
  const small = specOf('small', 'app 1');
  const large = specOf('large', 'app 1', { annotations: { 'cpusetd.io/policy': 'x'.repeat(2 ** 20) } });
  const brought = [{ podUid: 'b', containerName: 'app', mems: parseCpuList('1') }];
  const podLevel = [
    {
      podUid: 'c',
      shown: 'whole' as const,
      shares: 4096,
      quotaUs: 400_000,
      periodUs: 100_000,
    },
  ];
  const { store, lines } = openStore(stateDir);
  for (const pods of [[small], [small, large], [large, small]])
    expect(store.save({ assignments, pods, brought, podLevel })).toBeUndefined();
  expect(lines.map(({ msg, pod }) => `${msg}: ${pod ?? ''}`)).toEqual(['pod not remembered over a restart: ns/large']);

  const { model, lines: later } = openStore(stateDir);
  expect([...model.assignments.values()]).toEqual(assignments);
  expect([...model.keptSpecs.values()]).toEqual([small]);
  expect([...model.brought.values()]).toEqual(brought);
  expect([...model.podLevel.values()]).toEqual(podLevel);
  expect(later).toEqual([]);
});
