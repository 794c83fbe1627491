import { MAX_JSON_BYTES } from '../../../src/core/bounded-json';
import pino from 'pino';
import { SeenPods } from '../../../src/scheduling/extender/bind/seen-pods';
import { NodeRecords } from '../../../src/scheduling/extender/cluster/node-records';
import { DecisionLog } from '../../../src/scheduling/extender/explain/decision-log';
import { Judge } from '../../../src/scheduling/extender/judge';
import { ExtenderMetrics } from '../../../src/scheduling/extender/metrics';
import { BadRequest } from '../../../src/scheduling/extender/protocol/read-args';
import { SchedulerVerbs } from '../../../src/scheduling/extender/scheduler-verbs';
import { TimeZone } from '../../../src/scheduling/load/time-zone';
import type { SchedulerPolicy } from '../../../src/scheduling/policy/policy';

export const maxBytes = 16_384;

const VERBS = ['filter', 'prioritize', 'preempt', 'bind'] as const;
const nowMs = Date.parse('2023-03-01T02:00:00Z');
const MAX_SCORE = 1_000;

const policy: SchedulerPolicy = {
  syncPolicy: [{ name: 'cpu', periodMs: 180_000 }],
  predicate: [{ name: 'cpu', maxLimit: 0.65 }],
  priority: [{ name: 'cpu', weight: 1 }],
  hotValue: [],
};

const verbs = createVerbs();
function createVerbs(): SchedulerVerbs {
  const none = (): number => 0;
  const records = new NodeRecords();
  return new SchedulerVerbs({
    judge: new Judge({ plugins: { Dynamic: 3 }, policy: () => policy, state: undefined }),
    records,
    loads: undefined,
    binder: undefined,
    seen: new SeenPods(),
    decisions: new DecisionLog(records),
    metrics: new ExtenderMetrics({
      isSynced: () => true,
      nodes: none,
      topologies: none,
      pods: none,
      policyIsRefused: () => false,
    }),
    zone: TimeZone.of('UTC'),
    dryRun: false,
    log: pino({ level: 'silent' }),
    policy: () => policy,
    resources: ['cpu'],
    maxRequestBytes: MAX_JSON_BYTES,
    notReady: () => '',
    nowMs: () => nowMs,
  });
}

const pod = { metadata: { name: 'web', namespace: 'default', uid: 'u1' }, spec: { containers: [] } };
const node = (name: string, cpu: number) => ({
  metadata: { name, annotations: { cpu: `${cpu},2023-03-01T02:00:00Z`, node_hot_value: '1,2023-03-01T02:00:00Z' } },
});
const items = [node('a', 0.3), node('b', 0.9)];

export const seeds = (): readonly Uint8Array[] =>
  [
    [0, { Pod: pod, Nodes: { items } }],
    [1, { Pod: pod, Nodes: { items } }],
    [0, { pod, nodenames: ['a', '__proto__'] }],
    [2, { Pod: pod, NodeNameToMetaVictims: { a: { Pods: [{ UID: 'u2' }], NumPDBViolations: 1 } } }],
    [3, { PodName: 'web', PodNamespace: 'default', PodUID: 'u1', Node: 'a' }],
  ].map(([verb, body]) => Buffer.from(`${VERBS[verb as number]![0]}${JSON.stringify(body)}`));

/**
 * The first byte chooses the verb, the rest is the body. Each request is refused as none of the protocol, or answered:
 * filter puts each node on one side, and scores are whole numbers in their range.
 */
export async function fuzz(data: Buffer): Promise<void> {
  const verb = VERBS.find((name) => name.charCodeAt(0) === data[0]) ?? VERBS[(data[0] ?? 0) % VERBS.length]!;
  let answer: object;
  try {
    answer = await Promise.resolve(verbs[verb](data.subarray(1)));
  } catch (error) {
    if (error instanceof BadRequest) return;
    throw error;
  }
  if (verb === 'filter') checkFilter(data.subarray(1), answer as FilterAnswer);
  if (verb === 'prioritize')
    for (const { Score } of answer as readonly { readonly Score: unknown }[])
      if (!Number.isInteger(Score) || (Score as number) < 0 || (Score as number) > MAX_SCORE)
        throw new Error(`the score ${String(Score)}`);
}

interface FilterAnswer {
  readonly Nodes: { readonly items: readonly unknown[] } | null;
  readonly FailedNodes: Readonly<Record<string, string>>;
  readonly Error: string;
}

/** Nodes may have one name several times; then one of them stands for all that failed. */
function checkFilter(body: Buffer, { Nodes, FailedNodes, Error: because }: FilterAnswer): void {
  if (because !== '') return;
  const fields = Object.entries(JSON.parse(body.toString('utf8')) as Record<string, unknown>);
  const asked = fields.filter(([name]) => name.toLowerCase() === 'nodes').at(-1)![1] as { items: readonly unknown[] };
  const [passed, failed] = [Nodes!.items.length, Object.keys(FailedNodes).length];
  if (passed + failed > asked.items.length || (passed < asked.items.length && failed === 0))
    throw new Error(`of ${asked.items.length} nodes ${passed} passed and ${failed} failed`);
}
