import { isAlias, isMap, isScalar, isSeq, LineCounter, type Document, type Node, type YAMLMap } from 'yaml';

import { readBounded } from '../../files/read-bounded';
import { parseYaml } from '../../files/parse-yaml';
import { nameOf, OPTION_KEYS } from './options';
import type { FileSource, NodeGroup, NodeMatch, Setting } from './setting';
import { LABEL_NAME, LABEL_VALUE } from '../../option-types/kube-types';
import { excerpt } from '../../option-types/value-type';
import { plural } from '../../core/text';

const MAX_BYTES = 64 * 1024;
/** Maximum number of problems of one file in a message. A file that is no YAML at all has one at every character. */
const MAX_PROBLEMS = 20;

/** The key of the sections for some nodes. */
export const NODE_GROUPS = 'node-groups';
/** The options that decide which groups a node is in, so that no group can set them. */
export const NOT_IN_GROUPS: readonly string[] = ['node-name', 'node-labels'];
/** The options that decide where the labels of the Node come from: a group by labels can't set them. */
const NOT_BY_LABELS: readonly string[] = [...NOT_IN_GROUPS, 'kubeconfig', 'state-dir'];
/** A name of a Node in which `*` stands for any text. */
export const NODE_PATTERN = /^[a-z0-9*](?:[-a-z0-9.*]{0,251}[a-z0-9*])?$/;
export const GROUP_NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const GROUP_FORM = 'write { name: ..., match: { node-names: [...], node-labels: {...} }, options: {...} }';

/**
 * The settings of a YAML or JSON file: one mapping from option names to values. Lists are joined with commas, mappings
 * become `k=v`, and a scalar is taken as it is written, so that `05` and `1e3` stay what they are.
 */
export function readConfigFile(path: string): FileSource {
  const read = readBounded(path, MAX_BYTES);
  if (!read.ok) {
    const remedy = read.kind === 'too-large' ? 'is it the right one?' : 'check the path';
    return { settings: [], problems: [`--config ${path}: ${read.because}; ${remedy}`], unread: 'all' };
  }
  const { problems, ...source } = readSettings(path, read.text);
  const rest = problems.length - MAX_PROBLEMS;
  const more = rest > 0 ? [`${path}: ${plural(rest, 'more fault')}; correct the file`] : [];
  return { ...source, problems: [...problems.slice(0, MAX_PROBLEMS), ...more], text: read.text };
}

function readSettings(path: string, text: string): FileSource {
  const lines = new LineCounter();
  const parsed = parseYaml(text, lines);
  const unreadable = (...problems: string[]): FileSource => ({ settings: [], problems, unread: 'all' });
  if (!parsed.ok) return unreadable(`${path}:1: ${parsed.because}; write lines like reserved-cpus: 0-1`);
  const { document } = parsed;
  const lineAt = (offset: number | undefined): number => lines.linePos(offset ?? 0).line;

  const broken = document.errors.map(
    ({ code, message, pos }) => `${path}:${lineAt(pos[0])}: ${REASONS[code] ?? message}; correct the file`,
  );
  if (broken.length > 0) return unreadable(...broken);
  if (document.contents === null) return { settings: [], problems: [] };
  if (!isMap(document.contents)) return unreadable(`${path}:1: is not a mapping; write lines like reserved-cpus: 0-1`);

  const reader = new Reader(path, document, lineAt);
  const groups: NodeGroup[] = [];
  const settings = reader.readOptions(document.contents, {
    [NODE_GROUPS]: (value, line) => groups.push(...reader.readGroups(value, line)),
  });
  const { problems, unread, repeated } = reader;
  return { settings, problems, unread, repeated, ...(groups.length > 0 && { groups }) };
}

const REASONS: Readonly<Record<string, string>> = {
  MULTIPLE_DOCS: 'holds more than one document',
};

/** Keys that are no options, with what reads their values. */
type Sections = Readonly<Record<string, (value: unknown, line: number) => void>>;

class Reader {
  readonly problems: string[] = [];
  readonly unread: string[] = [];
  readonly repeated: Setting[] = [];
  private readonly known = new Set(OPTION_KEYS.map(nameOf));

  constructor(
    private readonly path: string,
    private readonly document: Document,
    private readonly lineAt: (offset: number | undefined) => number,
  ) {}

  /** `group`: the one that they are of, and the options that it can't set. */
  readOptions(
    map: YAMLMap,
    sections: Sections,
    group?: { readonly name: string; readonly without: readonly string[] },
  ): Setting[] {
    const { path } = this;
    const seen = new Set<string>();
    const settings: Setting[] = [];
    const isOfOptions = map.items.some(
      ({ key }) => isScalar(key) && (this.known.has(String(key.value)) || Object.hasOwn(sections, String(key.value))),
    );
    const resemblesOption = recognizeOptions();
    for (const { key, value } of map.items) {
      const name = isScalar(key) ? String(key.value) : '(a key that is not a word)';
      const line = this.lineOf(key);
      const resolved = this.resolve(value);
      const section = Object.hasOwn(sections, name) ? sections[name] : undefined;
      const written = section ? undefined : writeAsText(resolved);
      const origin = { kind: 'file', path, line, ...(group && { group: group.name }) } as const;
      if (seen.has(name)) {
        this.complain(line, 'an option is set twice; correct the file');
        if (written !== undefined) this.repeated.push({ name, text: written, origin });
      } else if (section) section(resolved, line);
      else if (group?.without.includes(name) === true)
        this.complain(
          line,
          `${name}: decides which groups a node is in, so the group ${group.name} can't set it; write it outside of the groups`,
        );
      else if (!this.known.has(name)) {
        const shown = isOfOptions || group || resemblesOption(name) ? showKey(name) : HIDDEN_KEY;
        this.complain(line, `${shown}: no such option; remove it, or see cpusetd run --help for the names`);
      } else if (written === undefined) {
        this.unread.push(name);
        this.complain(line, `${name}: has no value that can be read; write one text, list or mapping`);
      } else settings.push({ name, text: written, origin });
      seen.add(name);
    }
    return settings;
  }

  readGroups(value: unknown, line: number): NodeGroup[] {
    if (!isSeq(value)) {
      this.complain(line, `${NODE_GROUPS}: is not a list; ${GROUP_FORM}`);
      return [];
    }
    const groups: NodeGroup[] = [];
    for (const item of value.items) {
      const group = this.readGroup(this.resolve(item), this.lineOf(item));
      if (group && groups.some(({ name }) => name === group.name))
        this.complain(
          group.line,
          `${NODE_GROUPS}: two groups have the name ${group.name}; give each a name of its own`,
        );
      else if (group) groups.push(group);
    }
    return groups;
  }

  private readGroup(value: unknown, line: number): NodeGroup | undefined {
    if (!isMap(value)) {
      this.complain(line, `${NODE_GROUPS}: has a group that is not a mapping; ${GROUP_FORM}`);
      return undefined;
    }
    const parts = new Map<string, unknown>();
    for (const { key, value: part } of value.items) {
      const name = isScalar(key) ? String(key.value) : '(a key that is not a word)';
      if (parts.has(name))
        this.complain(this.lineOf(key), `${NODE_GROUPS}: a group has ${excerpt(name)} twice; correct the file`);
      if (!GROUP_KEYS.includes(name))
        this.complain(this.lineOf(key), `${NODE_GROUPS}: ${excerpt(name)} is no part of a group; ${GROUP_FORM}`);
      parts.set(name, this.resolve(part));
    }
    const name = parts.get('name');
    const written = isScalar(name) ? writeAsText(name) : undefined;
    if (written === undefined || !GROUP_NAME.test(written)) {
      this.complain(line, `${NODE_GROUPS}: a group has no name of letters, digits, dots and dashes; ${GROUP_FORM}`);
      return undefined;
    }
    const match = this.readMatch(written, parts.get('match'), line);
    const options = parts.get('options');
    if (!isMap(options)) {
      this.complain(line, `${NODE_GROUPS}: the group ${written} has no options; ${GROUP_FORM}`);
      return undefined;
    }
    const without = match.nodeLabels ? NOT_BY_LABELS : NOT_IN_GROUPS;
    return { name: written, line, match, settings: this.readOptions(options, {}, { name: written, without }) };
  }

  /** A match with no node where it can't be read: that is reported. */
  private readMatch(group: string, match: unknown, line: number): NodeMatch {
    const wrong = (what: string): NodeMatch => {
      this.complain(line, `${NODE_GROUPS}: the group ${group} ${what}; ${MATCH_FORM}`);
      return { nodeNames: [] };
    };
    if (!isMap(match) || match.items.length === 0) return wrong('does not say which nodes it is for');
    const parts = new Map(
      match.items.map(({ key, value }) => [
        isScalar(key) ? String(key.value) : 'a key that is not a word',
        this.resolve(value),
      ]),
    );
    const other = [...parts.keys()].find((key) => !MATCH_KEYS.includes(key));
    if (other !== undefined) return wrong(`matches by ${excerpt(other)}, which is not known`);
    const names = parts.has('node-names') ? readNames(parts.get('node-names')) : undefined;
    if (typeof names === 'string') return wrong(names);
    const labels = parts.has('node-labels') ? readLabels(parts.get('node-labels')) : undefined;
    if (typeof labels === 'string') return wrong(labels);
    return { ...(names && { nodeNames: names }), ...(labels && { nodeLabels: labels }) };
  }

  private complain(line: number, because: string): void {
    this.problems.push(`${this.path}:${line}: ${because}`);
  }

  private lineOf(node: unknown): number {
    return this.lineAt((node as Node | null)?.range?.[0]);
  }

  private resolve(value: unknown): unknown {
    return isAlias(value) ? value.resolve(this.document) : value;
  }
}

/** Stands for a key that is not shown: the file may be any other, and its faults are shown in logs and alarms. */
const HIDDEN_KEY = '(a key)';

function showKey(name: string): string {
  return /^[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*$/.test(name) ? excerpt(name) : HIDDEN_KEY;
}

/**
 * Tells keys that have a word of an option's name, or are one written otherwise. Made once for a file, which may have
 * thousands of keys.
 */
function recognizeOptions(): (key: string) => boolean {
  const names = OPTION_KEYS.map(nameOf);
  const words = new Set(names.flatMap(wordsOf));
  const joined = new Set(names.map(joinWords));
  return (key) =>
    key.length <= MAX_KEY_LENGTH && (wordsOf(key).some((word) => words.has(word)) || joined.has(joinWords(key)));
}

function wordsOf(name: string): string[] {
  return name
    .replaceAll(/([a-z])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[-_]/)
    .filter((word) => word.length > 2);
}

function joinWords(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '');
}

const MAX_KEY_LENGTH = 60;

const GROUP_KEYS = ['name', 'match', 'options'];
const MATCH_KEYS = ['node-names', 'node-labels'];
const MATCH_FORM = 'write match: { node-names: [gpu-*, node-17] } or match: { node-labels: { pool: gpu } }';

/** The names, or what is wrong with them, in words that go on from the group's name. */
function readNames(list: unknown): readonly string[] | string {
  const names = isSeq(list) ? list.items.map((item) => (isScalar(item) ? writeAsText(item) : undefined)) : [];
  if (names.length === 0) return 'has no list of names';
  if (names.includes(undefined)) return 'names a node by something that is no text';
  const bad = names.find((name) => !NODE_PATTERN.test(name!));
  if (bad !== undefined) return `names a node ${excerpt(bad)}, which is no name of a Node and no pattern with *`;
  return names as readonly string[];
}

/** The labels, or what is wrong with them. */
function readLabels(map: unknown): Readonly<Record<string, string>> | string {
  if (!isMap(map) || map.items.length === 0) return 'has no labels by name and value';
  const labels: Record<string, string> = {};
  for (const { key, value } of map.items) {
    const name = isScalar(key) ? String(key.value) : '';
    const text = isScalar(value) ? writeAsText(value) : undefined;
    if (!LABEL_NAME.test(name)) return `has a label ${excerpt(name)}, which is no name of a label`;
    if (text === undefined || !LABEL_VALUE.test(text))
      return `has a label ${name} whose value is no value of a label; quote an empty one: ""`;
    labels[name] = text;
  }
  return labels;
}

/** Undefined for null and for nested collections. */
function writeAsText(value: unknown): string | undefined {
  if (isScalar(value)) {
    if (value.value === null) return undefined;
    return typeof value.value === 'string' ? value.value : value.source;
  }
  if (isSeq(value)) return joinAll(value.items.map((item) => (isScalar(item) ? writeAsText(item) : undefined)));
  if (!isMap(value)) return undefined;
  return joinAll(
    value.items.map(({ key, value: content }) => {
      const [name, text] = [key, content].map((part) => (isScalar(part) ? writeAsText(part) : undefined));
      return name === undefined || text === undefined ? undefined : `${name}=${text}`;
    }),
  );
}

function joinAll(parts: readonly (string | undefined)[]): string | undefined {
  return parts.includes(undefined) ? undefined : parts.join(',');
}
