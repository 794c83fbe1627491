import {
  CreateContainerResponse,
  StopContainerResponse,
  SynchronizeResponse,
  UpdateContainerResponse,
} from '../../gen/nri/v1alpha1/nri';
import { parseCpuList } from '../../src/core/cpuset';
import type { RuntimeEvent } from '../../src/core/model/events';
import { canCarry, writeAnswer, type OkAnswer } from '../../src/nri-events/write-answer';

const cpus = parseCpuList('0-3,8');
const mems = parseCpuList('0');
const none = parseCpuList('');

const about = {
  pod: {},
  container: { id: 'own' },
  containerId: 'own',
  sandboxId: 'p',
  pods: [],
  containers: [],
  resources: {},
};
const event = (kind: string) => ({ ...about, kind }) as unknown as RuntimeEvent;
const write = (kind: string, answer: Omit<OkAnswer, 'kind'>) => writeAnswer(event(kind), { kind: 'ok', ...answer });

/** The decoded answer, without fields that are not set. */
function updatesIn(
  update: readonly {
    containerId: string;
    linux: { resources: { cpu: object | undefined } | undefined } | undefined;
    ignoreFailure: boolean;
  }[],
) {
  return update.map((each) => [each.containerId, each.linux?.resources?.cpu, each.ignoreFailure]);
}

const unset = {
  _unknownFields: {},
  shares: undefined,
  quota: undefined,
  period: undefined,
  realtimeRuntime: undefined,
  realtimePeriod: undefined,
  cpus: '',
  mems: '',
};

test('the answer to a creation has its adjustment and the updates of others', () => {
  const bytes = write('create-container', {
    adjust: { cpus, mems },
    updates: [{ containerId: 'a', cpus: parseCpuList('4-7') }],
  });
  const { adjust, update, evict } = CreateContainerResponse.decode(bytes);
  expect(adjust?.linux?.resources?.cpu).toEqual({ ...unset, cpus: '0-3,8', mems: '0' });
  expect(updatesIn(update)).toEqual([['a', { ...unset, cpus: '4-7' }, true]]);
  expect(evict).toEqual([]);
});

test('an answer has only the fields that it changes, since each is claimed against other plugins', () => {
  const { adjust } = CreateContainerResponse.decode(write('create-container', { adjust: { cpus } }));
  expect(adjust).toMatchObject({ annotations: {}, mounts: [], env: [], hooks: undefined, rlimits: [], args: [] });
  expect(adjust?.linux).toMatchObject({
    devices: [],
    cgroupsPath: '',
    oomScoreAdj: undefined,
    resources: { memory: undefined, pids: undefined },
  });
});

test('a file of CPUs is a read-only mount and its variables, beside the adjustment', () => {
  const mount = { hostDirectory: '/run/cpusetd/identity/s.db', cpus };
  const { adjust } = CreateContainerResponse.decode(write('create-container', { adjust: { cpus }, mount }));
  expect(adjust?.linux?.resources?.cpu).toEqual({ ...unset, cpus: '0-3,8' });
  expect(adjust?.mounts).toMatchObject([
    {
      destination: '/etc/cpusetd',
      type: 'bind',
      source: '/run/cpusetd/identity/s.db',
      options: ['bind', 'ro', 'nosuid', 'nodev', 'noexec', 'rprivate'],
    },
  ]);
  expect(adjust?.env).toMatchObject([
    { key: 'CPUSETD_CPUS_FILE', value: '/etc/cpusetd/cpus.json' },
    { key: 'CPUSETD_CPUS', value: '0-3,8' },
  ]);
});

test('a file of a container that is left alone changes nothing else', () => {
  const mount = { hostDirectory: '/run/cpusetd/identity/s.db' };
  const { adjust } = CreateContainerResponse.decode(write('create-container', { mount }));
  expect(adjust).toMatchObject({ linux: undefined, env: [{ key: 'CPUSETD_CPUS_FILE' }] });
  expect(adjust?.mounts).toHaveLength(1);
  // The encoded answer of the pool is shared with containers that have no file.
  expect(CreateContainerResponse.decode(write('create-container', { adjust: { cpus } })).adjust?.mounts).toEqual([]);
});

test('a creation in the shared pool has the answer of that pool, and of no other', () => {
  const creation = (adjust: OkAnswer['adjust']) => write('create-container', { adjust: adjust! });
  const answer = creation({ cpus });
  expect(creation({ cpus })).toBe(answer);
  const read = (bytes: Uint8Array) => CreateContainerResponse.decode(bytes).adjust?.linux?.resources?.cpu;
  expect(read(answer)).toEqual({ ...unset, cpus: '0-3,8' });
  expect(read(creation({ cpus: parseCpuList('0-3') }))).toEqual({ ...unset, cpus: '0-3' });
  expect(read(creation({ cpus, mems }))).toEqual({ ...unset, cpus: '0-3,8', mems: '0' });
  expect(read(creation({ cpus, quotaUs: -1 }))).toMatchObject({ cpus: '0-3,8', quota: { value: -1n } });
  expect(() => creation({ cpus: none })).toThrow(RangeError);
  const updates = [{ containerId: 'a', cpus }];
  expect(CreateContainerResponse.decode(write('create-container', { adjust: { cpus }, updates })).update).toHaveLength(
    1,
  );
});

test.each([
  [-1, -1n],
  [0, 0n],
  [150_000, 150_000n],
])('a quota of %d is sent as it is', (quotaUs, value) => {
  const { adjust } = CreateContainerResponse.decode(write('create-container', { adjust: { quotaUs } }));
  expect(adjust?.linux?.resources?.cpu).toMatchObject({ ...unset, quota: { value } });
});

test('an update of the container itself goes under its own id, in front of the others', () => {
  const { update } = UpdateContainerResponse.decode(
    write('update-container', { adjust: { cpus }, updates: [{ containerId: 'a', mems }] }),
  );
  expect(updatesIn(update)).toEqual([
    ['own', { ...unset, cpus: '0-3,8' }, false],
    ['a', { ...unset, mems: '0' }, true],
  ]);
});

test('the answer to an exit has the updates of others', () => {
  const { update } = StopContainerResponse.decode(
    write('container-stopped', { updates: [{ containerId: 'a', cpus }] }),
  );
  expect(updatesIn(update)).toEqual([['a', { ...unset, cpus: '0-3,8' }, true]]);
});

test('a synchronization ends with the updates, and with no more to come', () => {
  const { update, more } = SynchronizeResponse.decode(write('synchronize', { updates: [{ containerId: 'a', cpus }] }));
  expect(more).toBe(false);
  expect(update).toHaveLength(1);
});

test('a container with two updates is updated once; in each field the last one wins', () => {
  const updates = [
    { containerId: 'a', cpus: parseCpuList('9'), mems },
    { containerId: 'b', cpus },
    { containerId: 'a', cpus },
  ];
  const { update } = CreateContainerResponse.decode(write('create-container', { updates }));
  expect(updatesIn(update)).toEqual([
    ['a', { ...unset, cpus: '0-3,8', mems: '0' }, true],
    ['b', { ...unset, cpus: '0-3,8' }, true],
  ]);
});

test.each(['create-container', 'container-stopped'])('%s does not update its own container', (kind) => {
  expect(write(kind, { updates: [{ containerId: 'own', cpus }] })).toHaveLength(0);
});

test.each`
  what                 | answer
  ${'adjusted cpus'}   | ${{ adjust: { cpus: none } }}
  ${'adjusted mems'}   | ${{ adjust: { cpus, mems: none } }}
  ${'cpus of another'} | ${{ updates: [{ containerId: 'a', cpus: none }] }}
`('an empty set of $what is refused', ({ answer }) => {
  expect(() => write('create-container', answer)).toThrow(RangeError);
});

test.each([
  'create-container',
  'update-container',
  'container-stopped',
  'synchronize',
  'pod-started',
  'container-started',
])('an answer to %s without changes has no bytes', (kind) => {
  expect(write(kind, {})).toHaveLength(0);
});

test.each`
  kind                   | answer                                       | fits
  ${'create-container'}  | ${{ adjust: { cpus } }}                      | ${true}
  ${'container-stopped'} | ${{ updates: [] }}                           | ${true}
  ${'container-stopped'} | ${{ adjust: { cpus } }}                      | ${false}
  ${'synchronize'}       | ${{ adjust: { cpus } }}                      | ${false}
  ${'container-started'} | ${{}}                                        | ${true}
  ${'container-started'} | ${{ updates: [{ containerId: 'a', cpus }] }} | ${false}
  ${'pod-stopped'}       | ${{ adjust: { cpus } }}                      | ${false}
`('an answer to $kind has fields for $answer: $fits', ({ kind, answer, fits }) => {
  expect(canCarry(event(kind), { kind: 'ok', ...answer })).toBe(fits);
});
