import {
  describePlace,
  OPTION_KEYS,
  nameOf,
  OPTIONS,
  restartReason,
  type Loaded,
  type Setting,
} from '../../app/config';
import { showText } from '../../core/show-text';
import { formatTable } from '../format/table';
import type { Terminal } from '../format/terminal';

/** One option as it would be in force, and why. */
export interface ExplainedOption {
  readonly option: string;
  /** Absent where it has no value. */
  readonly value?: string;
  readonly setBy: SetBy;
  readonly change: 'live' | 'restart';
  /** The reason why a change needs a restart. */
  readonly because?: string;
}

export interface SetBy {
  readonly kind: 'flag' | 'env' | 'group' | 'file' | 'default';
  /** The place, such as `/etc/cpusetd.yaml:3`; absent for a default. */
  readonly at?: string;
  /** The name of the group. */
  readonly group?: string;
}

export interface Explanation {
  readonly node: Loaded['node'];
  /** The path of the file; absent without one. */
  readonly file?: string;
  readonly options: readonly ExplainedOption[];
}

/** Each option with its value, the place where it was set, and how a change of it is taken. */
export function explainOptions({ chosen, node, file }: Pick<Loaded, 'chosen' | 'node' | 'file'>): Explanation {
  const options = OPTION_KEYS.map((key): ExplainedOption => {
    const option = nameOf(key);
    const setting = chosen.get(option);
    const value = setting?.text ?? OPTIONS[key].default;
    const because = restartReason(key);
    return {
      option,
      ...(value !== undefined && value !== '' && { value }),
      setBy: describeOrigin(setting),
      change: because === undefined ? 'live' : 'restart',
      ...(because !== undefined && { because: `${option} ${because}` }),
    };
  });
  return { node, ...(file && { file: file.path }), options };
}

function describeOrigin(setting: Setting | undefined): SetBy {
  if (!setting) return { kind: 'default' };
  const { origin } = setting;
  if (origin.kind !== 'file') return { kind: origin.kind, at: describePlace(setting) };
  const at = `${origin.path}:${origin.line}`;
  return origin.group === undefined ? { kind: 'file', at } : { kind: 'group', at, group: origin.group };
}

/** For people: a table, and above it the node by whose name the groups were chosen. */
export function formatOptions({ node, file, options }: Explanation, terminal: Terminal): string {
  const rows = options.map(({ option, value = '', setBy, change }) => [option, value, change, showOrigin(setBy)]);
  const groups =
    node.groups.length === 0 ? 'in no group' : `groups, the most specific first: ${node.groups.join(', ')}`;
  const unknown =
    node.labelsFrom === 'unknown'
      ? 'groups by labels are left out: the labels of the node are not known; set --node-labels\n'
      : '';
  const head = file === undefined ? '' : `node ${showText(node.name)}: ${groups} of ${showText(file)}\n${unknown}\n`;
  return head + formatTable(['OPTION', 'VALUE', 'CHANGE', 'SET BY'], rows, { terminal });
}

function showOrigin({ kind, at = '', group }: SetBy): string {
  switch (kind) {
    case 'default':
      return 'default';
    case 'group':
      return `group ${group ?? ''}, ${at}`;
    default:
      return at;
  }
}
