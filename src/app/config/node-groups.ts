import { describePlace, type NodeGroup, type Setting } from './setting';

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

/** The specificity of the pattern by which a group has a node. Higher wins; the parts are compared in order. */
type Specificity = readonly [isWholeName: number, letters: number];

export interface SettingsOfNode {
  readonly settings: readonly Setting[];
  readonly problems: readonly string[];
  /** The names of the node's groups, the most specific first. */
  readonly groupNames: readonly string[];
}

/**
 * The settings of a file for one node: those of its groups, then those for every node. Where groups of the node set one option, the most
 * specific one wins: a whole name before a pattern, of two patterns the one with more letters beside its `*`. Two that are equally specific
 * are a problem, whether they agree or not.
 */
export function settingsFor(
  node: string,
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
      else if (compare(rank, other.rank) === 0) problems.push(describeTie(node, setting, group, other));
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
function rankGroups(groups: readonly NodeGroup[], node: string): readonly Omit<Ranked, 'setting'>[] {
  return groups
    .flatMap((group) => {
      const rank = specificityOf(group, node);
      return rank ? [{ group, rank }] : [];
    })
    .sort((a, b) => compare(b.rank, a.rank));
}

/** The specificity of the best of its patterns; undefined when none of them has the node. */
function specificityOf({ nodeNames }: Pick<NodeGroup, 'nodeNames'>, node: string): Specificity | undefined {
  const ranks = nodeNames
    .filter((pattern) => matches(pattern, node))
    .map((pattern): Specificity => [pattern.includes('*') ? 0 : 1, pattern.replaceAll('*', '').length]);
  return ranks.sort(compare).at(-1);
}

/** Each part between two stars is found at its first place after the one before it: no pattern takes long. */
function matches(pattern: string, node: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return pattern === node;
  if (!node.startsWith(first) || node.length < first.length + last.length || !node.endsWith(last)) return false;
  let from = first.length;
  const end = node.length - last.length;
  for (const part of rest) {
    const at = node.indexOf(part, from);
    if (at < 0 || at + part.length > end) return false;
    from = at + part.length;
  }
  return from <= end;
}

function compare(a: Specificity, b: Specificity): number {
  return a[0] - b[0] || a[1] - b[1];
}

function describeTie(
  node: string,
  setting: Setting,
  group: NodeGroup,
  { setting: other, group: otherGroup }: Ranked,
): string {
  const what = setting.name === other.name ? setting.name : `${setting.name} and ${other.name}`;
  return `${describePlace(setting)}: the groups ${otherGroup.name} and ${group.name} have the node ${node} by patterns that are equally specific, and both set ${what}; set it in one of them, or name the node in one`;
}
