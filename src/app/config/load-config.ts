import { checkOptionsAreUsed } from '../../core/options';
import { nameOf, OPTIONS, type Config, type OptionKey } from './options';
import { readEnv } from './read-env';
import { readFlags } from './read-flags';
import { describePlace, type PlaceOf, type Setting } from './setting';

export interface ConfigInput {
  /** Values of each flag that was given, by its name without dashes; `config` names the file. */
  readonly flags: Readonly<Record<string, readonly string[]>>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export type LoadedConfig =
  | { readonly ok: true; readonly config: Config; readonly placeOf: PlaceOf }
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
  const fromFile =
    path === undefined ? { settings: [], problems: [] } : (await import('./read-file')).readConfigFile(path);
  problems.push(...fromFile.problems);

  const chosen = new Map<string, Setting>();
  for (const { settings } of [fromFile, fromEnv, fromFlags])
    for (const setting of settings) chosen.set(setting.name, setting);
  const config = Object.fromEntries(
    (Object.keys(OPTIONS) as OptionKey[]).map((key) => [key, readValue(key, chosen.get(nameOf(key)), problems)]),
  ) as Config;
  problems.push(...checkTogether(config, chosen));
  if (problems.length > 0) return { ok: false, problems };
  const placeOf: PlaceOf = (name) => describePlace(chosen.get(name) ?? { name, origin: { kind: 'flag' } });
  return { ok: true, config, placeOf };
}

/** The value of one option; adds to the problems when its text is wrong. */
function readValue(key: OptionKey, setting: Setting | undefined, problems: string[]): unknown {
  const { type, default: fallback } = OPTIONS[key];
  const text = setting?.text ?? fallback;
  if (text === undefined) return undefined;
  const parsed = type.parse(text);
  if (parsed.ok) return parsed.value;
  problems.push(`${setting ? describePlace(setting) : nameOf(key)}: "${text}" ${parsed.problem}; ${parsed.remedy}`);
  return undefined;
}

/** Rules over more than one option. */
function* checkTogether(config: Config, chosen: ReadonlyMap<string, Setting>): Generator<string> {
  const list = chosen.get('reserved-cpus');
  const count = chosen.get('reserved-cpu-count');
  if (list && count) {
    yield `${describePlace(list)} and ${describePlace(count)}: both say what is reserved; set only one of them`;
  }
  if (!list && !count && config.kubeletConfig === undefined && config.cpuManagerPolicy !== 'none') {
    yield `no CPU is reserved, and the ${config.cpuManagerPolicy} policy needs at least one for the system; set --reserved-cpus or --reserved-cpu-count`;
  }
  if (config.mode === 'cri-proxy') {
    const endpoint = chosen.get('cri-endpoint') ?? { name: 'cri-endpoint', origin: { kind: 'flag' } };
    if (config.criEndpoint === undefined)
      yield `${describePlace(endpoint)}: the mode cri-proxy needs the CRI socket of the runtime; write its path`;
    else if ('path' in config.criListen && config.criListen.path === config.criEndpoint)
      yield `${describePlace(endpoint)}: the proxy cannot listen on the socket of the runtime; set another --cri-listen`;
  }
  const podResources = chosen.get('pod-resources-socket');
  if (podResources && config.podResourcesSocket === `${config.kubeletRootDir}/pod-resources/kubelet.sock`)
    yield `${describePlace(podResources)}: this is the kubelet's own socket, which cpusetd asks; write another path`;
  if (config.kubeconfig === undefined) yield* checkWithoutApiServer(config, chosen);
  const options = chosen.get('cpu-manager-policy-options');
  // Values that could not be read are undefined here, and were told already.
  const inForce = [config.cpuManagerPolicy, ...((config.podPolicies as Config['podPolicies'] | undefined) ?? [])];
  const unused = checkOptionsAreUsed(inForce, config.cpuManagerPolicyOptions ?? new Map());
  if (options && unused) yield `${describePlace(options)}: ${unused.because}`;
}

/** What can't be done when there is no API server to do it with. */
function* checkWithoutApiServer(config: Config, chosen: ReadonlyMap<string, Setting>): Generator<string> {
  const needs: readonly (readonly [name: string, isSet: boolean])[] = [
    ['node-resource-topology', config.nodeResourceTopology !== 'off'],
    ['kube-events', config.kubeEvents],
    ['node-condition', config.nodeCondition],
    ['kubelet-config', config.kubeletConfig?.kind === 'configz'],
  ];
  for (const [name, isSet] of needs) {
    const setting = chosen.get(name);
    if (setting && isSet) yield `${describePlace(setting)}: this goes through the API server; set --kubeconfig`;
  }
}
