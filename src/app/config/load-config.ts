import { checkTogether } from './check-together';
import { describeInForce, type OptionsInForce } from './in-force';
import { nameOf, OPTIONS, type Config, type OptionKey } from './options';
import { readEnv } from './read-env';
import { readFlags } from './read-flags';
import { describePlace, type PlaceOf, type Setting, type Source } from './setting';
import { excerpt, quote } from './types/value-type';

export interface ConfigInput {
  /** Values of each flag that was given, by its name without dashes; `config` names the file. */
  readonly flags: Readonly<Record<string, readonly string[]>>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export type LoadedConfig =
  | {
      readonly ok: true;
      readonly config: Config;
      readonly placeOf: PlaceOf;
      readonly inForce: OptionsInForce;
    }
  /** All that is wrong, each in a line of its own that names input, rule and remedy. */
  | { readonly ok: false; readonly problems: readonly string[] };

/** Puts the options together: flags win over the environment, that over the file, that over the defaults. */
export async function loadConfig({
  flags: { config: configFlags = [], ...flags },
  env,
}: ConfigInput): Promise<LoadedConfig> {
  const fromFlags = readFlags(flags);
  const fromEnv = readEnv(env);
  const problems = [...fromFlags.problems, ...fromEnv.problems];
  if (configFlags.length > 1) problems.push(`--config: is given ${configFlags.length} times; give it once`);

  const path = configFlags[0] ?? fromEnv.configPath;
  const fromFile: Source =
    path === undefined ? { settings: [], problems: [] } : (await import('./read-file')).readConfigFile(path);
  problems.push(...fromFile.problems);

  const chosen = new Map<string, Setting>();
  for (const { settings } of [fromFile, fromEnv, fromFlags])
    for (const setting of settings) chosen.set(setting.name, setting);
  const values: Partial<Record<OptionKey, unknown>> = {};
  const rejected = new Set<OptionKey>();
  for (const key of Object.keys(OPTIONS) as OptionKey[]) {
    const setting = chosen.get(nameOf(key));
    const read = readValue(key, setting);
    if (!setting && isUnread(fromFile, nameOf(key))) rejected.add(key);
    else if (read.ok) values[key] = read.value;
    else {
      rejected.add(key);
      problems.push(read.because);
    }
  }
  problems.push(...checkTogether({ config: values as Partial<Config>, rejected, chosen }));
  if (problems.length > 0) return { ok: false, problems };
  const placeOf: PlaceOf = (name, { withText = false } = {}) => {
    const setting = chosen.get(name);
    const place = describePlace(setting ?? { name, origin: { kind: 'flag' } });
    return withText && setting ? `${place} ${excerpt(setting.text)}` : place;
  };
  return { ok: true, config: values as Config, placeOf, inForce: describeInForce(chosen) };
}

/** True when the option was set, or may have been, and the text could not be read. */
function isUnread({ unread = [] }: Source, name: string): boolean {
  return unread === 'all' || unread.includes(name);
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
