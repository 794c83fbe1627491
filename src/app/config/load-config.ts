import { checkTogether } from './check-together';
import { describeNode, isByLabels } from './describe-node';
import { describeInForce, type OptionsInForce } from './in-force';
import { findSwitchOff } from './kill-switch';
import type { NodeLabels } from './known-labels';
import { settingsFor } from './node-groups';
import { nameOf, OPTION_KEYS, OPTIONS, type Config, type OptionKey } from './options';
import { readEnv } from './read-env';
import { readFlags } from './read-flags';
import { describePlace, type FileSource, type NodeGroup, type PlaceOf, type Setting, type Source } from './setting';
import { excerpt, quote } from '../../option-types/value-type';

export interface ConfigInput {
  /** Values of each flag that was given, by its name without dashes; `config` names the file. */
  readonly flags: Readonly<Record<string, readonly string[]>>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The file that a configuration was read from. */
export interface ConfigFile {
  readonly path: string;
  /** Its text; absent when it could not be read. */
  readonly text?: string;
}

/** A configuration that can be used. */
export interface Loaded {
  readonly ok: true;
  readonly config: Config;
  readonly placeOf: PlaceOf;
  readonly inForce: OptionsInForce;
  /** The settings that were given, by the option's name: of those for one option the one that wins. */
  readonly chosen: ReadonlyMap<string, Setting>;
  /** The setting that switches the actions of QoS rules off; absent when they are not. */
  readonly switchOff?: Setting;
  /** Absent without a file. */
  readonly file?: ConfigFile;
  readonly node: LoadedNode;
  /**
   * Puts the options together again, with the file as it is then. `labels`: those that the Node has now, where they are
   * known.
   */
  readonly again: (labels?: NodeLabels) => Promise<LoadedConfig>;
}

/** The node that the groups of the file were chosen for. */
export interface LoadedNode {
  readonly name: string;
  /** The names of the groups that have it, the most specific first. */
  readonly groups: readonly string[];
  /**
   * The source of its labels. Absent when no group asks for labels; `unknown`: the groups that do are left out until
   * they are known.
   */
  readonly labelsFrom?: 'option' | 'api-server' | 'unknown';
  /** Absent where they are not known, or not asked for. */
  readonly labels?: NodeLabels;
}

export type LoadedConfig =
  | Loaded
  /** All that is wrong, each in a line of its own that names input, rule and remedy. */
  | {
      readonly ok: false;
      readonly problems: readonly string[];
      readonly file?: ConfigFile;
      /** As above: it counts beside faults of other options. */
      readonly switchOff?: Setting;
      readonly usable: UsableOptions;
    };

/**
 * The options without the faulty ones, which have their defaults here: for commands that look at a broken node. Nothing
 * is pinned by them.
 */
export interface UsableOptions {
  readonly config: Config;
  readonly inForce: OptionsInForce;
}

/**
 * Puts the options together: flags win over the environment, that over the file, that over the defaults. In the file
 * the groups of this node win over what is for every node.
 *
 * `known`: the labels that our Node has now. Without them, those count that the API server had last time, which the
 * state directory remembers.
 */
export async function loadConfig(input: ConfigInput, known?: NodeLabels): Promise<LoadedConfig> {
  const {
    flags: { config: configFlags = [], ...flags },
    env,
  } = input;
  const fromFlags = readFlags(flags);
  const fromEnv = readEnv(env);
  const problems = [...fromFlags.problems, ...fromEnv.problems];
  if (configFlags.length > 1) problems.push(`--config: is given ${configFlags.length} times; give it once`);

  const path = configFlags[0] ?? fromEnv.configPath;
  const fromFile: FileSource =
    path === undefined ? { settings: [], problems: [] } : (await import('./read-file')).readConfigFile(path);
  const { groups = [], text } = fromFile;
  problems.push(...fromFile.problems);
  const file: { readonly file?: ConfigFile } =
    path === undefined ? {} : { file: { path, ...(text !== undefined && { text }) } };

  const outside = [fromFile, fromEnv, fromFlags];
  const { labelsFrom, ...node } = describeNode({ outside, groups, known });
  const { labels } = node;
  if (labelsFrom === 'nowhere')
    problems.push(...groups.filter(isByLabels).map((group) => describeUnlabelled(group, path ?? '')));
  const ofNode = settingsFor(node, { settings: fromFile.settings, groups });
  problems.push(...ofNode.problems);
  const chosen = new Map<string, Setting>();
  for (const { settings } of [ofNode, fromEnv, fromFlags])
    for (const setting of settings) chosen.set(setting.name, setting);
  const values: Partial<Record<OptionKey, unknown>> = {};
  const rejected = new Set<OptionKey>();
  for (const key of OPTION_KEYS) {
    const setting = chosen.get(nameOf(key));
    const read = readValue(key, setting);
    if (!setting && isUnread(fromFile, nameOf(key))) rejected.add(key);
    else if (read.ok) values[key] = read.value;
    else {
      rejected.add(key);
      problems.push(read.because);
    }
    // A fault in a group is reported on every node, not only on those that it is for.
    for (const other of groups.flatMap(({ settings }) => settings.filter(({ name }) => name === nameOf(key)))) {
      const readOther = readValue(key, other);
      if (other !== setting && !readOther.ok) problems.push(readOther.because);
    }
  }
  problems.push(...checkTogether({ config: values as Partial<Config>, rejected, chosen }));
  const switchOff = findSwitchOff(chosen, fromFile.repeated);
  const always = { ...file, ...(switchOff && { switchOff }) };
  const inForce = describeInForce(chosen);
  if (problems.length > 0 || labelsFrom === 'nowhere') {
    for (const key of rejected) values[key] = readDefault(key);
    return { ok: false, problems, ...always, usable: { config: values as Config, inForce } };
  }
  const placeOf: PlaceOf = (name, { withText = false } = {}) => {
    const setting = chosen.get(name);
    const place = describePlace(setting ?? { name, origin: { kind: 'flag' } });
    return withText && setting ? `${place} ${excerpt(setting.text)}` : place;
  };
  return {
    ok: true,
    config: values as Config,
    placeOf,
    inForce,
    chosen,
    ...always,
    node: { name: node.name, groups: ofNode.groupNames, ...(labelsFrom && { labelsFrom }), ...(labels && { labels }) },
    again: (now = known) => loadConfig(input, now),
  };
}

function describeUnlabelled({ name, line }: NodeGroup, path: string): string {
  return `${path}:${line}: node-groups: the group ${name} is for nodes with labels, but those of this node are not known; set kubeconfig, or node-labels`;
}

/** True when the option was set, or may have been, and the text could not be read. */
function isUnread({ unread = [] }: Source, name: string): boolean {
  return unread === 'all' || unread.includes(name);
}

function readDefault(key: OptionKey): unknown {
  const read = readValue(key, undefined);
  return read.ok ? read.value : undefined;
}

/** The value of one option, or what is wrong with its text. */
function readValue(
  key: OptionKey,
  setting: Setting | undefined,
): { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly because: string } {
  const { type, default: fallback } = OPTIONS[key];
  const text = setting?.text ?? fallback;
  if (text === undefined) return { ok: true, value: undefined };
  const parsed = type.parse(text);
  if (parsed.ok) return parsed;
  const place = setting ? describePlace(setting) : nameOf(key);
  return { ok: false, because: `${place}: ${quote(text)} ${parsed.problem}; ${parsed.remedy}` };
}
