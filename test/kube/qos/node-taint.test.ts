import pino from 'pino';
import { hasInterferenceTaint, interferenceCondition, setInterferenceTaint } from '../../../src/kube/qos/node-taint';
import type { Json } from '../../support/kube/api-server';
import { waitUntil } from '../../support/wait-until';
import { openStage, type Stage } from './stage';

const NODES = '/api/v1/nodes';
const ours = { key: 'interference.crane.io', effect: 'PreferNoSchedule' };
const foreign = { key: 'gpu', value: 'only', effect: 'NoSchedule' };
const added = { key: 'late', effect: 'NoExecute' };

let stage: Stage;
afterEach(() => stage.close());

const node = (taints?: unknown): Json => ({ metadata: { name: 'n1' }, spec: { podCIDR: '10.0.0.0/24', taints } });
const taintsNow = (): unknown => (stage.server.get(NODES, 'n1')?.['spec'] as Json)['taints'];
const patches = () => stage.server.requests.filter(({ method }) => method === 'PATCH');

async function open(taints: unknown, options: { readonly without?: string } = {}): Promise<Stage> {
  stage = await openStage(options);
  stage.server.put(NODES, node(taints));
  return stage;
}

/** Another writer adds a taint after each of the first reads, so that the write that follows is out of date. */
function interfere(times: number): void {
  let done = 0;
  stage.server.trouble = ({ method }) => {
    if (method !== 'PATCH' || done === times) return undefined;
    done++;
    stage.server.put(NODES, node([...((taintsNow() ?? []) as Json[]), { ...added, key: `late-${done}` }]));
    return undefined;
  };
}

test.each`
  taints                                       | wanted   | changed  | after
  ${undefined}                                 | ${true}  | ${true}  | ${[ours]}
  ${null}                                      | ${true}  | ${true}  | ${[ours]}
  ${[]}                                        | ${true}  | ${true}  | ${[ours]}
  ${[foreign]}                                 | ${true}  | ${true}  | ${[foreign, ours]}
  ${[foreign, ours]}                           | ${true}  | ${false} | ${[foreign, ours]}
  ${[ours, foreign]}                           | ${false} | ${true}  | ${[foreign]}
  ${[ours]}                                    | ${false} | ${true}  | ${undefined}
  ${[{ ...ours, value: '' }]}                  | ${false} | ${true}  | ${undefined}
  ${undefined}                                 | ${false} | ${false} | ${undefined}
  ${null}                                      | ${false} | ${false} | ${null}
  ${[foreign]}                                 | ${false} | ${false} | ${[foreign]}
  ${[{ ...ours, effect: 'NoSchedule' }]}       | ${false} | ${false} | ${[{ ...ours, effect: 'NoSchedule' }]}
  ${[{ ...ours, effect: 'NoSchedule' }]}       | ${true}  | ${true}  | ${[{ ...ours, effect: 'NoSchedule' }, ours]}
  ${[{ ...ours, value: 'theirs' }]}            | ${false} | ${false} | ${[{ ...ours, value: 'theirs' }]}
  ${[{ ...ours, value: 'theirs' }]}            | ${true}  | ${false} | ${[{ ...ours, value: 'theirs' }]}
  ${[ours, { ...foreign, timeAdded: '2026' }]} | ${false} | ${true}  | ${[{ ...foreign, timeAdded: '2026' }]}
`(
  'given the taints $taints, wanted: $wanted, then changed: $changed',
  async ({
    taints,
    wanted,
    changed,
    after,
  }: {
    taints: unknown;
    wanted: boolean;
    changed: boolean;
    after: unknown;
  }) => {
    const { client } = await open(taints);
    expect(await setInterferenceTaint(client, 'n1', wanted)).toMatchObject({ changed });
    expect(taintsNow()).toEqual(after);
    expect(stage.server.get(NODES, 'n1')).toMatchObject({ spec: { podCIDR: '10.0.0.0/24' } });
    expect(patches()).toHaveLength(changed ? 1 : 0);
  },
);

test('given a taint of our key and effect with a value, the reason names it', async () => {
  const { client } = await open([{ ...ours, value: 'theirs' }]);
  expect(await setInterferenceTaint(client, 'n1', true)).toEqual({
    changed: false,
    because: 'somebody else has set interference.crane.io=theirs:PreferNoSchedule',
  });
});

test.each`
  times | wanted   | after
  ${1}  | ${true}  | ${['gpu', 'late-1', 'interference.crane.io']}
  ${2}  | ${true}  | ${['gpu', 'late-1', 'late-2', 'interference.crane.io']}
  ${2}  | ${false} | ${['gpu', 'late-1', 'late-2']}
`(
  'given another writer in between $times times, wanted: $wanted, then all taints of others stay',
  async ({ times, wanted, after }: { times: number; wanted: boolean; after: string[] }) => {
    const { client } = await open(wanted ? [foreign] : [foreign, ours]);
    interfere(times);
    expect(await setInterferenceTaint(client, 'n1', wanted)).toMatchObject({ changed: true });
    expect((taintsNow() as Json[]).map(({ key }) => key)).toEqual(after);
  },
);

test('given another writer in between each time, it gives up after three tries, and nothing of others is lost', async () => {
  const { client } = await open([foreign]);
  interfere(9);
  await expect(setInterferenceTaint(client, 'n1', true)).rejects.toMatchObject({ status: 409 });
  expect(patches()).toHaveLength(3);
  expect((taintsNow() as Json[]).map(({ key }) => key)).toEqual(['gpu', 'late-1', 'late-2', 'late-3']);
});

test.each([
  ['no Node of that name', undefined, 'n2', 404],
  ['no right to read it', '/nodes get', 'n1', 403],
  ['no right to patch it', '/nodes patch', 'n1', 403],
])('given %s, the error has its status', async (_name, without, name, status) => {
  const { client } = await open([], without === undefined ? {} : { without });
  await expect(setInterferenceTaint(client, name, true)).rejects.toMatchObject({ status });
});

test('the taint of a Node is read from it', async () => {
  await open([]);
  expect([node(), node([foreign]), node([foreign, ours]), undefined].map(hasInterferenceTaint)).toEqual([
    false,
    false,
    true,
    false,
  ]);
});

test('the condition is written beside others, and again when it changes', async () => {
  const { client, server, stop } = await open([]);
  const other = { type: 'Ready', status: 'True' };
  server.put(NODES, { ...node([]), status: { conditions: [other] } });
  const conditions = () => (server.get(NODES, 'n1')?.['status'] as { conditions: Json[] }).conditions;
  let isIdentified = true;
  const condition = interferenceCondition({
    client,
    nodeName: 'n1',
    state: () => ({ isIdentified, reason: isIdentified ? 'Triggered' : 'Calm', message: 'rules/cpu' }),
    log: pino({ level: 'silent' }),
    signal: stop.signal,
    now: () => '2026-01-01T00:00:00Z',
    debounceMs: 1,
  });
  condition.touch();
  await waitUntil('the condition', () => conditions().length === 2);
  const times = { lastHeartbeatTime: '2026-01-01T00:00:00Z', lastTransitionTime: '2026-01-01T00:00:00Z' };
  const ofRules = { type: 'interference-identified', message: 'rules/cpu', ...times };
  expect(conditions()).toEqual([other, { ...ofRules, status: 'True', reason: 'Triggered' }]);
  isIdentified = false;
  condition.touch();
  await waitUntil('the change', () => conditions()[1]?.['status'] === 'False');
  expect(conditions()).toEqual([other, { ...ofRules, status: 'False', reason: 'Calm' }]);
});
