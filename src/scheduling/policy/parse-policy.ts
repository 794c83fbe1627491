import { isMap, isScalar, isSeq, LineCounter, type Node, type YAMLMap } from 'yaml';
import { plural } from '../../core/text';
import { showText } from '../../core/show-text';
import { parseYaml } from '../../files/parse-yaml';
import { parseGoDuration } from './go-duration';
import type { HotValue, Predicate, Priority, SchedulerPolicy, SyncPolicy, WholeCpus } from './policy';

export type ParsedPolicy =
  | {
      readonly ok: true;
      readonly policy: SchedulerPolicy;
      /** Things in the file that have no effect, a line each: `FILE:LINE: …`. */
      readonly remarks: readonly string[];
    }
  | { readonly ok: false; /** `FILE:LINE: field: rule; remedy`. */ readonly problems: readonly string[] };

const API_VERSION = 'scheduler.policy.crane.io/v1alpha1';
const KIND = 'DynamicSchedulerPolicy';
/** Longest list of a policy: each entry costs time at each node and each pod. */
const MAX_ENTRIES = 64;
/** Maximum number of problems in a message. */
const MAX_PROBLEMS = 20;
/** A longer period keeps a figure valid for longer than any load means something. */
const MAX_PERIOD_MS = 7 * 24 * 3_600_000;

/**
 * Reads a policy file, YAML or JSON, of crane-scheduler: `scheduler.policy.crane.io/v1alpha1`,
 * `DynamicSchedulerPolicy`. Upstream checks nothing; here each rule that it leaves out is a problem with its line.
 * Fields that nobody knows are remarks, since upstream ignores them.
 *
 * @param path names the file in the messages
 */
export function parsePolicy(text: string, path: string): ParsedPolicy {
  const lines = new LineCounter();
  const parsed = parseYaml(text, lines);
  if (!parsed.ok) return { ok: false, problems: [`${path}:1: ${parsed.because}; a policy needs four levels`] };
  const { document } = parsed;
  const lineOf = (node: Node | null | undefined): number => lines.linePos(node?.range?.[0] ?? 0).line;
  const broken = document.errors.map(
    ({ message, pos }) => `${path}:${lines.linePos(pos[0]).line}: ${showText(message, 200)}; correct the YAML`,
  );
  if (broken.length > 0) return { ok: false, problems: bounded(broken, path) };

  const reader = new PolicyReader((node, problem) => `${path}:${lineOf(node)}: ${problem}`);
  const policy = reader.read(document.contents);
  return reader.problems.length > 0
    ? { ok: false, problems: bounded(reader.problems, path) }
    : { ok: true, policy, remarks: bounded(reader.remarks, path) };
}

function bounded(lines: readonly string[], path: string): readonly string[] {
  const rest = lines.length - MAX_PROBLEMS;
  return rest <= 0 ? lines : [...lines.slice(0, MAX_PROBLEMS), `${path}: ${plural(rest, 'more line')} of this kind`];
}

/** A value of the file with the words that name it, such as `spec.predicate[0].maxLimitPecent`. */
interface Field {
  readonly name: string;
  readonly node: Node | null;
}

/** Goes through the document once and collects everything that is wrong with it. */
class PolicyReader {
  readonly problems: string[] = [];
  readonly remarks: string[] = [];

  constructor(private readonly at: (node: Node | null, text: string) => string) {}

  /** The policy; only of use when there are no problems. */
  read(root: Node | null): SchedulerPolicy {
    const fields = this.readMap({ name: 'the file', node: root }, ['apiVersion', 'kind', 'spec', 'metadata']);
    this.expectText(fields.get('apiVersion'), 'apiVersion', API_VERSION, root);
    this.expectText(fields.get('kind'), 'kind', KIND, root);
    const spec = fields.get('spec');
    const lists = this.readMap({ name: 'spec', node: spec ?? null }, [...LISTS, 'wholeCPUs'], root);
    const syncPolicy = this.readList(lists, 'syncPolicy', ['name', 'period'], (entry) => this.readSyncPolicy(entry));
    const known = new Set(syncPolicy.map(({ name }) => name));
    const predicate = this.readList(lists, 'predicate', ['name', 'maxLimitPecent'], (entry) =>
      this.readPredicate(entry, known),
    );
    const priority = this.readList(lists, 'priority', ['name', 'weight'], (entry) => this.readPriority(entry, known));
    const hotValue = this.readList(lists, 'hotValue', ['timeRange', 'count'], (entry) => this.readHotValue(entry));
    if (priority.length > 0 && !(priority.reduce((sum, { weight }) => sum + weight, 0) > 0))
      this.reject(lists.get('priority') ?? null, 'spec.priority: all weights are 0; give one a weight above 0');
    const wholeCpus = this.readWholeCpus(lists.get('wholeCPUs'));
    return { syncPolicy, predicate, priority, hotValue, ...(wholeCpus && { wholeCpus }) };
  }

  private readSyncPolicy(entry: Entry): SyncPolicy {
    const name = this.readName(entry);
    if (entry.earlier.has(name) && name !== '')
      this.remarks.push(this.at(entry.node, `${entry.path}: ${name} is there already; the first entry counts`));
    entry.earlier.add(name);
    return { name, periodMs: this.readDuration(entry, 'period', MAX_PERIOD_MS) };
  }

  private readPredicate(entry: Entry, known: ReadonlySet<string>): Predicate {
    const name = this.readKnownName(entry, known);
    return { name, maxLimit: this.readNumber(entry, 'maxLimitPecent', 'a ratio such as 0.65, or 0 for no limit') };
  }

  private readPriority(entry: Entry, known: ReadonlySet<string>): Priority {
    const name = this.readKnownName(entry, known);
    return { name, weight: this.readNumber(entry, 'weight', 'a number of at least 0') };
  }

  private readHotValue(entry: Entry): HotValue {
    const timeRangeMs = this.readDuration(entry, 'timeRange', MAX_PERIOD_MS);
    const count = this.readNumber(entry, 'count', 'a whole number of at least 1');
    if (Number.isFinite(count) && !(Number.isSafeInteger(count) && count >= 1))
      this.reject(entry.fields.get('count') ?? entry.node, `${entry.path}.count: must be a whole number of at least 1`);
    return { timeRangeMs, count };
  }

  private readWholeCpus(node: Node | undefined): WholeCpus | undefined {
    if (node === undefined) return undefined;
    const path = 'spec.wholeCPUs';
    const fields = this.readMap({ name: path, node }, ['strategy', 'weight']);
    const entry: Entry = { path, node, fields, earlier: new Set() };
    const weight = this.readNumber(entry, 'weight', 'a number of at least 0; 0 is off');
    const strategy = textOf(fields.get('strategy'));
    if (strategy === 'MostAllocated' || strategy === 'LeastAllocated')
      return weight > 0 ? { strategy, weight } : undefined;
    this.reject(
      fields.get('strategy') ?? node,
      `${path}.strategy: must be MostAllocated (pack) or LeastAllocated (spread)`,
    );
    return undefined;
  }

  /** The metric's name is a metric of Prometheus and the key of an annotation. */
  private readName({ path, node, fields }: Entry): string {
    const place = fields.get('name') ?? node;
    const name = textOf(fields.get('name')) ?? '';
    if (name === '') this.reject(place, `${path}.name: is missing; write the name of a metric`);
    else if (!/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name))
      this.reject(place, `${path}.name: ${quote(name)} is no name of a metric; use letters, digits and _`);
    else if (!/^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,61}[a-zA-Z0-9]$|^[a-zA-Z0-9]$/.test(name))
      this.reject(
        place,
        `${path}.name: ${quote(name)} can't be an annotation; use at most 63 letters, digits and _, with a letter or digit at both ends`,
      );
    else if (name === 'node_hot_value')
      this.reject(place, `${path}.name: node_hot_value is the annotation of the hot value; choose another metric`);
    return name;
  }

  private readKnownName(entry: Entry, known: ReadonlySet<string>): string {
    const name = this.readName(entry);
    if (name !== '' && !known.has(name))
      this.reject(
        entry.fields.get('name') ?? entry.node,
        `${entry.path}.name: ${quote(name)} is not in syncPolicy, so it never has a figure; add it there, or remove it here`,
      );
    if (entry.earlier.has(name) && entry.path.startsWith('spec.priority'))
      this.remarks.push(this.at(entry.node, `${entry.path}: ${name} is there already; both weights count`));
    entry.earlier.add(name);
    return name;
  }

  private readDuration({ path, node, fields }: Entry, field: string, mostMs: number): number {
    const valueNode = fields.get(field);
    const ms = parseGoDuration(textOf(valueNode) ?? '');
    const rule =
      ms === undefined
        ? `must be a duration such as 3m or 1h30m`
        : ms < 1
          ? 'must be longer than 0'
          : ms > mostMs
            ? 'must not be longer than seven days'
            : undefined;
    if (rule !== undefined) this.reject(valueNode ?? node, `${path}.${field}: ${rule}`);
    return ms ?? 0;
  }

  /** NaN for a value that is not a number of at least 0, which is a problem then. */
  private readNumber({ path, node, fields }: Entry, field: string, expected: string): number {
    const valueNode = fields.get(field);
    const value = isScalar(valueNode) ? valueNode.value : undefined;
    if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value;
    this.reject(valueNode ?? node, `${path}.${field}: must be ${expected}`);
    return NaN;
  }

  private readList<T>(
    lists: ReadonlyMap<string, Node>,
    field: (typeof LISTS)[number],
    names: readonly string[],
    read: (entry: Entry) => T,
  ): T[] {
    const node = lists.get(field);
    if (node === undefined || (isScalar(node) && node.value === null)) return [];
    if (!isSeq(node)) {
      this.reject(node, `spec.${field}: must be a list`);
      return [];
    }
    if (node.items.length > MAX_ENTRIES)
      this.reject(node, `spec.${field}: has ${node.items.length} entries; the most are ${MAX_ENTRIES}`);
    const earlier = new Set<string>();
    return node.items.slice(0, MAX_ENTRIES).map((item, i) => {
      const [path, entry] = [`spec.${field}[${i}]`, item as Node | null];
      return read({
        path,
        node: entry ?? node,
        fields: this.readMap({ name: path, node: entry }, names, node),
        earlier,
      });
    });
  }

  /**
   * The values of a mapping by key. Other keys than the names are remarks, and problems where they look like a slip.
   */
  private readMap({ name, node }: Field, names: readonly string[], place: Node | null = node): Map<string, Node> {
    const found = new Map<string, Node>();
    if (!isMap(node)) {
      this.reject(node ?? place, `${name}: must be a mapping with ${names.join(', ')}`);
      return found;
    }
    for (const { key, value } of (node as YAMLMap<Node | null, Node | null>).items) {
      const field = String(isScalar(key) ? key.value : '');
      const prefix = name === 'the file' ? '' : `${name}.`;
      if (found.has(field)) this.reject(key, `${prefix}${quote(field)}: is there twice; keep one`);
      else if (names.includes(field) && value !== null) found.set(field, value);
      else if (!names.includes(field)) this.noteUnknown(key, `${prefix}${quote(field)}`, field, names);
    }
    return found;
  }

  /**
   * Upstream ignores what it does not know. A limit by the name that was meant would silently be 0, no limit at all.
   */
  private noteUnknown(key: Node | null, shown: string, field: string, names: readonly string[]): void {
    const meant = names.find((name) => isSlipOf(field, name));
    if (meant === undefined) this.remarks.push(this.at(key, `${shown}: no such field; it has no effect`));
    else
      this.reject(
        key,
        `${shown}: no such field; write ${meant}${meant === 'maxLimitPecent' ? ', as crane-scheduler spells it' : ''}`,
      );
  }

  private expectText(node: Node | undefined, field: string, expected: string, root: Node | null): void {
    if (textOf(node) !== expected) this.reject(node ?? root, `${field}: must be ${expected}`);
  }

  private reject(node: Node | null, problem: string): void {
    this.problems.push(this.at(node, problem));
  }
}

const LISTS = ['syncPolicy', 'predicate', 'priority', 'hotValue'] as const;

interface Entry {
  readonly path: string;
  readonly node: Node | null;
  readonly fields: ReadonlyMap<string, Node>;
  /** The names of earlier entries of the list. */
  readonly earlier: Set<string>;
}

function textOf(node: Node | undefined): string | undefined {
  return isScalar(node) && typeof node.value === 'string' ? node.value : undefined;
}

const SHOWN = 100;

function quote(text: string): string {
  return showText(text, SHOWN);
}

/** True for the same letters in another case or with one letter more, less or different. */
function isSlipOf(written: string, name: string): boolean {
  const [a, b] = [written.toLowerCase(), name.toLowerCase()];
  if (a === b) return true;
  if (Math.abs(a.length - b.length) > 1) return false;
  let same = 0;
  while (same < Math.min(a.length, b.length) && a[same] === b[same]) same++;
  const [restA, restB] = [a.slice(same), b.slice(same)];
  return restA.slice(1) === restB.slice(1) || restA === restB.slice(1) || restA.slice(1) === restB;
}
