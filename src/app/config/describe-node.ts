import { hostname } from 'node:os';
import { readKnownLabels, type NodeLabels } from './known-labels';
import type { NodeInGroups } from './node-groups';
import { nameOf, OPTIONS, type OptionKey } from './options';
import type { NodeGroup, Source } from './setting';

export interface DescribedNode extends NodeInGroups {
  /**
   * The source of its labels. Undefined when no group asks for labels. `unknown`: the API server was not reached yet;
   * `nowhere`: it is not asked either.
   */
  readonly labelsFrom: 'option' | 'api-server' | 'unknown' | 'nowhere' | undefined;
}

/**
 * Describes this node as far as the groups of a file are chosen by it. `outside`: the settings outside of the groups,
 * those that win last. `known`: the labels that the API server has now. The labels of before are read where a group
 * asks for them.
 */
export function describeNode({
  outside,
  groups,
  known,
}: {
  readonly outside: readonly Source[];
  readonly groups: readonly NodeGroup[];
  readonly known: NodeLabels | undefined;
}): DescribedNode {
  const settings = outside.flatMap((source) => source.settings);
  const textOf = (key: OptionKey): string | undefined =>
    settings.findLast(({ name }) => name === nameOf(key))?.text ?? OPTIONS[key].default;
  const name = textOf('nodeName') ?? hostname().toLowerCase();
  if (!groups.some(isByLabels)) return { name, labels: undefined, labelsFrom: undefined };

  const given = OPTIONS.nodeLabels.type.parse(textOf('nodeLabels') ?? '');
  if (given.ok) return { name, labels: given.value, labelsFrom: 'option' };
  if (textOf('kubeconfig') === OPTIONS.kubeconfig.default) return { name, labels: undefined, labelsFrom: 'nowhere' };
  const labels = known ?? readKnownLabels(textOf('stateDir') ?? '');
  return { name, labels, labelsFrom: labels ? 'api-server' : 'unknown' };
}

/** True for a group that a node is in by its labels. */
export function isByLabels({ match }: Pick<NodeGroup, 'match'>): boolean {
  return match.nodeLabels !== undefined;
}
