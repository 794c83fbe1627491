import { isIPv6 } from 'node:net';
import { EXCLUDE_RESERVED } from '../../core/annotations/annotations';
import { MIRROR, MIRROR_HASH } from '../../core/model/pod-kinds';
import { isChoice } from '../../core/annotations/choose-policy';
import { isIdentityChoice } from '../../core/annotations/cpu-identity';
import { formatTopologyResult, parseTopologyResult, TOPOLOGY_RESULT } from '../../core/annotations/topology-result';
import { isJsonObject } from '../../core/json-object';
import { isPolicyName } from '../../core/model/policies';
import { checksumOf } from '../../state';
import type { Part } from './part';
import { LEFT_OUT, redactSecrets } from './redact-secrets';
import { WordFinder } from './word-finder';

/**
 * The private things that a report leaves out. `standard`: host names, addresses and the values of annotations; `pods`:
 * also the names of pods, namespaces and containers; `off`: secrets only, which every report leaves out.
 */
export const REDACTIONS = ['standard', 'pods', 'off'] as const;
export type Redaction = (typeof REDACTIONS)[number];

/** A file as the report has it. */
export interface RedactedPart {
  readonly text: string;
  /** A remark for the index. */
  readonly note?: string;
}

const HOST = 'redacted-host';
const ADDRESS = 'redacted-address';
/** Namespaces of every cluster. */
const COMMON_NAMESPACES = new Set(['default', 'kube-system']);
/** Fields with words of cpusetd's own. A name that is such a word must not change them. */
const FIXED = new Set(
  'kind of asked policy phase qos placement level code mode state check presence scope cause writtenBy version journal'.split(
    ' ',
  ),
);
const FIXED_WORD = /^[a-zA-Z][a-zA-Z-]{0,31}$|^cpusetd \S{1,40}$/;
/** Ids, and paths of cgroups, which have no names. */
const IDS = new Set(['id', 'uid', 'podUid', 'containerId', 'sandboxId', 'cgroupsPath', 'cgroupParent', 'temporaryId']);
const HOST_FIELDS = new Set(['node-name', 'nodeName', 'hostname', 'hostName']);
const SECRET_FIELD =
  /token|password|passwd|passphrase|secret|credential|cookie|authorization|^auth$|sess(?:ion)?[-_]?id|(?:private|api|access|signing|encryption)[-_]?key|key-data/i;
/** A shorter value of an annotation is in every text. */
const MIN_VALUE_LENGTH = 4;
const MIN_HOST_LENGTH = 2;

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/**
 * Leaves out of the files of a report what is private. First it learns names from all files, then it writes each
 * without them. A name has the same replacement everywhere, so that the files still fit together and a journal can be
 * replayed.
 */
export class Redactor {
  private readonly hosts = new Set<string>();
  private hostPattern: RegExp | undefined;
  /** Names of pods, namespaces and containers, with their replacements. */
  private readonly names = new Map<string, string>();
  private readonly counts = { pod: 0, namespace: 0, container: 0 };
  /** The values of annotations, which other texts may quote. */
  private readonly values = new WordFinder(MIN_VALUE_LENGTH);
  /** While names are learned nothing is redacted. */
  private isLearning = false;

  constructor(
    private readonly redaction: Redaction,
    hostNames: readonly string[],
  ) {
    for (const name of hostNames) this.addHost(name);
  }

  /** Takes the names that are in a file. Throws Error when it can't be read. */
  learn(part: Part): void {
    if (this.redaction === 'off') return;
    this.isLearning = true;
    try {
      if ('data' in part) this.walk(toJson(part.data), '', '');
      if (!('lines' in part)) return;
      for (const line of part.lines().split('\n')) {
        const value = parse(line);
        if (value !== undefined) this.walk(value, '', '');
      }
    } finally {
      this.isLearning = false;
    }
  }

  /** Throws Error when the file can't be read. */
  apply(part: Part): RedactedPart {
    if ('text' in part) return { text: this.redactText(part.text) };
    if ('data' in part) return { text: `${JSON.stringify(this.redactDocument(toJson(part.data)), null, 1)}\n` };
    let unreadable = 0;
    const lines = part
      .lines()
      .split('\n')
      .flatMap((line) => {
        if (line === '') return [];
        const value = parse(line);
        if (value === undefined) unreadable += 1;
        return value === undefined ? [] : [`${JSON.stringify(this.redactDocument(value))}\n`];
      });
    const note = `${unreadable} of its lines are not JSON and were left out`;
    return { text: lines.join(''), ...(unreadable > 0 && { note }) };
  }

  /** The state has a checksum over what it says. */
  private redactDocument(value: Json): Json {
    const redacted = this.walk(value, '', '');
    if (!isJsonObject(redacted) || !isJsonObject(value) || typeof value['checksum'] !== 'string') return redacted;
    const { checksum, ...content } = value;
    if (checksum !== checksumOf(JSON.stringify(content))) return redacted;
    const { checksum: _before, ...changed } = redacted;
    return { ...changed, checksum: checksumOf(JSON.stringify(changed)) };
  }

  /** The value without what is private. `above`: the key of the object that has `key`. */
  private walk(value: Json, key: string, above: string): Json {
    if (typeof value === 'string') return this.redactField(value, key);
    if (Array.isArray(value)) return (value as readonly Json[]).map((each) => this.walkItem(each, key));
    if (!isJsonObject(value)) return value;
    if (key === 'annotations' && this.redaction !== 'off') return this.redactAnnotations(value);
    const entries = Object.entries(value).map(([name, field]): [string, Json] => {
      const kind =
        this.redaction === 'pods' && typeof field === 'string' ? kindOfName(name, value, key, above) : undefined;
      const redacted = kind ? this.replacePath(field as string, kind) : this.walk(field, name, key);
      return [this.redactKey(name), redacted];
    });
    const result = Object.fromEntries(entries);
    if (value['kind'] === 'annotation-ignored' && typeof result['because'] === 'string' && this.redaction !== 'off')
      result['because'] = result['because'].replaceAll(/"(?:[^"\\]|\\.)*"/g, `"${LEFT_OUT}"`);
    return result;
  }

  /** The name of a field stays: it is none of a pod, as those that are kept here have a digit or a hyphen. */
  private redactKey(name: string): string {
    if (!isIdentifier(name)) return this.redactText(name);
    return !this.isLearning && isCompound(name) ? (this.names.get(name) ?? name) : name;
  }

  private walkItem(value: Json, key: string): Json {
    if (typeof value !== 'string' || this.redaction !== 'pods') return this.walk(value, key, key);
    if (key === 'names') return this.replacePath(value, NAMES);
    return key === 'containers' ? this.replacePath(value, ['container']) : this.redactField(value, key);
  }

  /** Keeps values that decide placements and are words of cpusetd's own, so that a replay decides the same. */
  private redactAnnotations(annotations: Readonly<Record<string, Json>>): Json {
    return Object.fromEntries(
      Object.entries(annotations).map(([name, value]) => {
        const text = typeof value === 'string' ? value : JSON.stringify(value);
        const kept = keptOf(name, text);
        if (kept !== text) this.addValue(text);
        return [this.redactText(name), kept];
      }),
    );
  }

  private addValue(text: string): void {
    for (const each of [text, JSON.stringify(text).slice(1, -1)]) this.values.add(each);
  }

  private addHost(name: string): void {
    const host = name.trim().toLowerCase().replace(/\.+$/, '');
    if (host.length < MIN_HOST_LENGTH || /^[\d.]*$/.test(host) || /^localhost(\.|$)/.test(host)) return;
    for (const each of [host, host.split('.')[0]!]) if (each.length >= MIN_HOST_LENGTH) this.hosts.add(each);
    this.hostPattern = undefined;
  }

  private redactField(text: string, key: string): string {
    if (SECRET_FIELD.test(key) && text !== '') return LEFT_OUT;
    if (FIXED.has(key) && FIXED_WORD.test(text)) return text;
    if (HOST_FIELDS.has(key) && this.redaction !== 'off') {
      this.addHost(text);
      return HOST;
    }
    return this.redactText(text, !IDS.has(key));
  }

  private redactText(text: string, mayHaveNames = true): string {
    if (this.isLearning) return text;
    const harmless = redactSecrets(text);
    if (this.redaction === 'off') return harmless;
    let redacted = redactAddresses(this.values.replace(harmless, LEFT_OUT));
    if (this.hosts.size > 0) redacted = redacted.replace((this.hostPattern ??= patternOf(this.hosts)), HOST);
    return mayHaveNames && this.redaction === 'pods' ? this.replaceNames(redacted) : redacted;
  }

  /** Replaces names where they are known to be: one of each kind, with slashes between them. */
  private replacePath(text: string, kinds: readonly NameKind[]): string {
    const words = text.split('/');
    // A single word where more could be is the last but one kind: a pod without its namespace.
    const from = kinds.length > 1 && words.length < kinds.length ? kinds.length - words.length : 0;
    return words.map((word, i) => this.nameOf(word, kinds[from + i] ?? kinds.at(-1)!)).join('/');
  }

  private nameOf(name: string, kind: NameKind): string {
    // The last is the pause container, as cpusetd calls it.
    if (name === '' || COMMON_NAMESPACES.has(name) || name === '(pause)') return name;
    let found = this.names.get(name);
    if (found === undefined) this.names.set(name, (found = `${kind}-${++this.counts[kind]}`));
    return found;
  }

  private replaceNames(text: string): string {
    if (this.names.size === 0) return text;
    return text.replaceAll(/[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?/g, (word) => {
      const [, prefix = '', rest = word] = /^(container\.)(.+)$/.exec(word) ?? [];
      return prefix + (this.names.get(rest) ?? this.replaceWithin(rest));
    });
  }

  /** Names that are parts of a longer word, such as `db-0.shop.svc` and `db-0-pvc`. Of several the longest counts. */
  private replaceWithin(word: string): string {
    if (word.length > MAX_WORD_LENGTH) return word;
    const parts = word.split(/([._-]+)/);
    let text = '';
    for (let from = 0; from < parts.length;) {
      const [end, name] = this.longestAt(parts, from);
      text += name;
      from = end;
    }
    return text;
  }

  /** The name that begins with this part, and the part after it; the part itself where there is none. */
  private longestAt(parts: readonly string[], from: number): readonly [end: number, name: string] {
    for (let end = Math.min(parts.length, from + MAX_NAME_PARTS); from % 2 === 0 && end > from; end -= 2) {
      const found = parts.slice(from, end).join('');
      const isApart = parts[from - 1] !== '-' && parts[end] !== '-';
      // A short word between hyphens is one of an option, or of anything else.
      const name = isApart || isCompound(found) ? this.names.get(found) : undefined;
      if (name !== undefined) return [end, name];
    }
    return [from + 1, parts[from]!];
  }
}

/** Longest word that is looked into, and the most parts of a name, with what is between them. */
const MAX_WORD_LENGTH = 1_000;
const MAX_NAME_PARTS = 31;

/** True for a name that no plain word is. */
function isCompound(name: string): boolean {
  return /[\d-]/.test(name);
}

type NameKind = 'namespace' | 'pod' | 'container';
const NAMES: readonly NameKind[] = ['namespace', 'pod', 'container'];

/** The kinds of names in a field; undefined for a field that has none. */
function kindOfName(
  field: string,
  object: Readonly<Record<string, Json>>,
  key: string,
  above: string,
): readonly NameKind[] | undefined {
  switch (field) {
    case 'namespace':
    case 'podNamespace':
      return ['namespace'];
    case 'pod':
      return ['namespace', 'pod'];
    case 'podName':
      return ['pod'];
    case 'container':
    case 'containerName':
      return ['container'];
    case 'causedBy':
      return NAMES;
    case 'subject':
      return 'outcome' in object ? kindsOfSubject(object['subject']) : undefined;
    case 'name':
      if ('namespace' in object) return ['pod'];
      return 'sandboxId' in object || key === 'containers' || above === 'containers' ? ['container'] : undefined;
    default:
      return undefined;
  }
}

/** The subject of an action of a rule is a container or a pod with its namespace, or the node. */
function kindsOfSubject(subject: Json | undefined): readonly NameKind[] | undefined {
  const words = typeof subject === 'string' ? subject.split('/').length : 0;
  return words > 1 ? NAMES.slice(0, words) : undefined;
}

function keptOf(name: string, value: string): string {
  const isHarmless =
    (isChoice(name) && isPolicyName(value)) ||
    (name === EXCLUDE_RESERVED && (value === 'true' || value === 'false')) ||
    (isIdentityChoice(name) && (value === 'on' || value === 'off')) ||
    ((name === MIRROR || name === MIRROR_HASH) && /^[0-9a-f-]{32,36}$/.test(value));
  if (isHarmless) return value;
  return name === TOPOLOGY_RESULT ? formatTopologyResult(parseTopologyResult(value)) : LEFT_OUT;
}

const OCTETS = '(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)';
const DOMAIN = '(?:\\.[a-z][a-z0-9-]*){0,8}\\.[a-z]{2,}(?![\\w-])';
/** As clouds name hosts by their address, as DNS services do, and addresses of network cards. */
const IN_NAMES: readonly RegExp[] = [
  new RegExp(`(?<![\\w-])ip-${OCTETS}(?:-${OCTETS}){3}(?![\\w-])`, 'gi'),
  new RegExp(`(?<![\\w.])${OCTETS}(?:\\.${OCTETS}){3}${DOMAIN}`, 'gi'),
  new RegExp(`(?<![\\w-])(?:[a-z][a-z0-9]{0,62}-){0,8}${OCTETS}(?:-${OCTETS}){3}${DOMAIN}`, 'gi'),
  /(?<![\w:])[0-9a-f]{2}(?::[0-9a-f]{2}){5}(?![\w:])/gi,
];

function redactAddresses(text: string): string {
  return IN_NAMES.reduce((left, shape) => left.replaceAll(shape, ADDRESS), text)
    .replaceAll(/(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\w)/g, (found) =>
      /^(?:127\.|0\.0\.0\.0$)/.test(found) ? found : ADDRESS,
    )
    .replaceAll(/(?<![\w:.])[0-9a-fA-F:.]{3,45}(?![\w:])/g, (found) =>
      isIPv6(found) && found !== '::1' && found !== '::' ? ADDRESS : found,
    );
}

/** Finds any of the hosts as a word, with the domain behind it. */
function patternOf(hosts: ReadonlySet<string>): RegExp {
  const longestFirst = [...hosts].sort((a, b) => b.length - a.length).map(escapeRegExp);
  return new RegExp(`(?<![A-Za-z0-9])(?:${longestFirst.join('|')})(?![A-Za-z0-9])(?:\\.[A-Za-z0-9-]+)*`, 'gi');
}

function toJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? null)) as Json;
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** The name of a field, rather than a key that others chose. */
function isIdentifier(key: string): boolean {
  return /^[A-Za-z0-9][\w-]*$/.test(key);
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\-]/g, '\\$&');
}
