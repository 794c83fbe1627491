import { mergeHints, type ProviderHints } from '../../../src/core/hints/merge-hints';
import type { TopologyHint } from '../../../src/core/hints/node-masks';
import { tableOf } from '../../core/hints/as-list';
import type { Random } from '../../support/random';
import type { AskKubelet } from './ask-kubelet';
import type { Machine } from './machines';
import type { MergeQuestion, ShownHint } from './questions';
import type { Tally } from './tally';

const POLICIES = ['best-effort', 'restricted', 'single-numa-node'] as const;

/** Asks both topology managers to merge random hints of up to three resources. */
export async function compareMerges(
  kubelet: AskKubelet,
  machine: Machine,
  random: Random,
  { tally, questions }: { readonly tally: Tally; readonly questions: number },
): Promise<void> {
  const { topology } = machine;
  const ids = topology.numaNodes.map(({ id }) => id);
  const compare = async (): Promise<void> => {
    const policy = random.pick(POLICIES);
    const isClosest = random.chance(0.4);
    const providers = Array.from({ length: random.int(1, 3) }, (_, i) => makeHints(random, ids, `resource-${i}`));
    const options = { 'prefer-closest-numa-nodes': String(isClosest) };
    const asked: MergeQuestion = { op: 'merge', policy, options, providers };
    const answering = kubelet.ask(asked);
    const merged = mergeHints({
      policy,
      nodeCount: ids.length,
      providers: providers.map((provider) => provider && tablesOf(provider, ids)),
      ...(isClosest && { distances: ids.map((from) => ids.map((to) => machine.question.distances[from]![to]!)) }),
    });
    const admit = policy === 'best-effort' || merged.preferred;
    const here = { nodes: merged.mask === null ? null : ids.filter((_, i) => (merged.mask! & (1 << i)) !== 0), preferred: merged.preferred }; // prettier-ignore
    const answer = await answering;
    const ours = JSON.stringify({ hint: here, admit });
    const same = JSON.stringify(answer) === ours;
    tally.count('merged hints', same ? undefined : 'unknown', () => ({
      machine: machine.question,
      asked,
      answer,
      here,
    }));
  };
  await Promise.all(Array.from({ length: questions }, compare));
}

function makeHints(
  random: Random,
  ids: readonly number[],
  resource: string,
): Readonly<Record<string, readonly ShownHint[] | null>> | null {
  if (random.chance(0.1)) return null;
  if (random.chance(0.1)) return { [resource]: random.chance(0.5) ? null : [] };
  const masks = new Set(Array.from({ length: random.int(1, 8) }, () => random.int(1, 2 ** ids.length - 1)));
  const hints = [...masks].sort((a, b) => a - b).map((mask): ShownHint => ({ nodes: ids.filter((_, i) => (mask & (1 << i)) !== 0), preferred: random.chance(0.4) })); // prettier-ignore
  return { [resource]: hints };
}

function tablesOf(
  provider: Readonly<Record<string, readonly ShownHint[] | null>>,
  ids: readonly number[],
): ProviderHints {
  const toHint = ({ nodes, preferred }: ShownHint): TopologyHint => ({
    mask: nodes && nodes.reduce((mask, id) => mask | (1 << ids.indexOf(id)), 0),
    preferred,
  });
  return Object.fromEntries(
    Object.entries(provider).map(([name, hints]) => [name, hints && tableOf(hints.map(toHint), ids.length)]),
  );
}
