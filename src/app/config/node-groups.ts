import { matchesPattern } from '../../core/name-pattern';
import type { NodeLabels } from './known-labels';
import { describePlace, type NodeGroup, type NodeMatch, type Setting } from './setting';

/** Options that say the same in two ways: who sets one of them, sets the other aside. */
const ALTERNATIVES: Readonly<Record<string, string>> = {
  'reserved-cpus': 'reserved-cpu-count',
  'reserved-cpu-count': 'reserved-cpus',
};

interface Ranked {
  readonly setting: Setting;
  readonly group: NodeGroup;
  readonly rank: Specificity;
}

/** The closeness with which a group describes a node that it has. Higher wins; the parts are compared in order. */
type Specificity = readonly [isWholeName: number, labels: number, letters: number];

/** A node, by what groups are chosen by. */
export interface NodeInGroups {
  readonly name: string;
  /** Undefined when they are not known: no group that asks for labels has the node then. */
  readonly labels: NodeLabels | undefined;
}

export interface SettingsOfNode {
  readonly settings: readonly Setting[];
  readonly problems: readonly string[];
  /** The names of the node's groups, the most specific first. */
  readonly groupNames: readonly string[];
}

/**
 * The settings of a file for one node: those of its groups, then those for every node. Where groups of the node set one
 * option, the most specific one wins: a whole name before all else, then the number of labels, then that of the letters
 * beside the `*` of the pattern. Two that are equally specific are a problem, whether they agree or not.
 */
export function settingsFor(
  node: NodeInGroups,
  { settings, groups }: { readonly settings: readonly Setting[]; readonly groups: readonly NodeGroup[] },
): SettingsOfNode {
  const chosen = new Map<string, Ranked>();
  const problems: string[] = [];
  const ranked = rankGroups(groups, node);
  for (const { group, rank } of ranked)
    for (const setting of group.settings) {
      const rivals = [setting.name, ALTERNATIVES[setting.name] ?? ''].map((name) => chosen.get(name));
      const other = rivals.find((each) => each !== undefined && each.group !== group);
      if (!other) chosen.set(setting.name, { setting, group, rank });
      else if (compare(rank, other.rank) === 0) problems.push(describeTie(node.name, setting, group, other));
    }
  const isSet = (name: string): boolean => chosen.has(name) || chosen.has(ALTERNATIVES[name] ?? '');
  const general = settings.filter(({ name }) => !isSet(name));
  return {
    settings: [...general, ...[...chosen.values()].map(({ setting }) => setting)],
    problems,
    groupNames: ranked.map(({ group }) => group.name),
  };
}

/** The groups that have the node, the most specific first. */
function rankGroups(groups: readonly NodeGroup[], node: NodeInGroups): readonly Omit<Ranked, 'setting'>[] {
  return groups
    .flatMap((group) => {
      const rank = specificityOf(group.match, node);
      return rank ? [{ group, rank }] : [];
    })
    .sort((a, b) => compare(b.rank, a.rank));
}

/** The specificity of the best of its patterns, with its labels; undefined when the group does not have the node. */
function specificityOf({ nodeNames, nodeLabels = {} }: NodeMatch, node: NodeInGroups): Specificity | undefined {
  const wanted = Object.entries(nodeLabels);
  if (!wanted.every(([name, value]) => labelOf(node, name) === value)) return undefined;
  if (!nodeNames) return [0, wanted.length, 0];
  const ranks = nodeNames
    .filter((pattern) => matchesPattern(node.name, pattern))
    .map((pattern): Specificity => {
      return [pattern.includes('*') ? 0 : 1, wanted.length, pattern.replaceAll('*', '').length];
    });
  return ranks.sort(compare).at(-1);
}

function labelOf({ labels = {} }: NodeInGroups, name: string): string | undefined {
  return Object.hasOwn(labels, name) ? labels[name] : undefined;
}

function compare(a: Specificity, b: Specificity): number {
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2];
}

function describeTie(
  node: string,
  setting: Setting,
  group: NodeGroup,
  { setting: other, group: otherGroup }: Ranked,
): string {
  const what = setting.name === other.name ? setting.name : `${setting.name} and ${other.name}`;
  return `${describePlace(setting)}: the groups ${otherGroup.name} and ${group.name} have the node ${node} by equally specific matches, and both set ${what}; set it in one of them, or name the node in one`;
}
