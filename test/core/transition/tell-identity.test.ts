import type { RuntimeAnswer } from '../../../src/core/model/events';
import { EIGHT_CPUS, NodeDriver, podOf, resourcesOf, type Rules } from './node-driver';

const ON = { 'cpusetd.io/cpu-identity': 'on' };

function create(
  annotations: Readonly<Record<string, string>>,
  { rules = { cpuIdentity: true }, cpus = 2, name = 'app' }: { rules?: Rules; cpus?: number; name?: string } = {},
): { readonly answer: RuntimeAnswer; readonly ignored: readonly string[]; readonly node: NodeDriver } {
  const node = new NodeDriver(EIGHT_CPUS, rules);
  const pod = { ...podOf('p'), annotations };
  const container = {
    id: 'c1',
    sandboxId: pod.sandboxId,
    name,
    phase: 'creating' as const,
    cgroupsPath: '/c1',
    resources: resourcesOf(cpus),
  };
  const answer = node.send({ kind: 'create-container', pod, container });
  const ignored = node.reported.flatMap((event) => (event.kind === 'annotation-ignored' ? [event.because] : []));
  return { answer, ignored, node };
}

function identityIn(answer: RuntimeAnswer): object | undefined {
  const identity = answer.kind === 'ok' ? answer.identity : undefined;
  return (
    identity && {
      ...identity,
      ...(identity.cpus && { cpus: identity.cpus.toString() }),
      ...(identity.numaNodes && { numaNodes: identity.numaNodes.toString() }),
    }
  );
}

const SINCE = '1970-01-01T00:00:01.000Z';

test.each<[string, object, Rules, number]>([
  ['CPUs of its own', { kind: 'static', cpus: '1,5', numaNodes: '0', since: SINCE }, {}, 2],
  ['the shared pool', { kind: 'shared', cpus: '0-7', numaNodes: '0', since: SINCE }, {}, 0.5],
  [
    'immovable CPUs',
    { kind: 'immovable', cpus: '1,5', numaNodes: '0', since: SINCE },
    { cpuManagerPolicy: 'immovable' },
    2,
  ],
  ['NUMA nodes', { kind: 'numa', cpus: '1-7', numaNodes: '0', since: SINCE }, { cpuManagerPolicy: 'numa' }, 2],
  ['what the runtime gives it', { kind: 'unmanaged' }, { cpuManagerPolicy: 'none' }, 2],
])('a container that asks and gets %s is told so', (_what, identity, rules, cpus) => {
  const { answer, ignored } = create(ON, { rules: { ...rules, cpuIdentity: true }, cpus });
  expect(identityIn(answer)).toEqual(identity);
  expect(ignored).toEqual([]);
});

test('a container that does not ask is told nothing, and neither is one that is refused', () => {
  expect(create({}).answer).toEqual({ kind: 'ok', adjust: expect.anything() });
  expect(create(ON, { cpus: 8 }).answer).toMatchObject({ kind: 'refuse' });
});

test('where the operator does not offer it, the container is created without, and the operator learns of the wish', () => {
  const { answer, ignored } = create(ON, { rules: {} });
  expect(answer).toEqual({ kind: 'ok', adjust: expect.anything() });
  expect(ignored).toEqual(['the operator gives no container a file with its CPUs here (--cpu-identity)']);
});

test.each(['../../etc/cron.d', 'a/b', '', 'A', 'x'.repeat(64)])(
  'a container of the hostile name %j is created without, with its CPUs',
  (name) => {
    const { answer, ignored, node } = create(ON, { name });
    expect(answer).toMatchObject({ kind: 'ok', adjust: expect.anything() });
    expect(identityIn(answer)).toBeUndefined();
    expect(ignored).toEqual(['the container or its sandbox has a name that none has in Kubernetes']);
    expect(node.model.exclusive.toString()).toBe('1,5');
  },
);
