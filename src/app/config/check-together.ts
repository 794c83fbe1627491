import { posix } from 'node:path';
import { canPin } from '../../core/model/settings';
import { checkOptionsAreUsed } from '../../core/options/static-policy-options';
import { nameOf, type Config, type OptionKey } from './options';
import { describePlace, type Setting } from './setting';

/** The options, without those that could not be read. */
export interface Given {
  readonly config: Partial<Config>;
  /** Options whose text was not accepted. They are reported already, and nothing is concluded from them. */
  readonly rejected: ReadonlySet<OptionKey>;
  /** The settings that were given, by the option's name. */
  readonly chosen: ReadonlyMap<string, Setting>;
}

/** A rule over more than one option. It is only asked where all the options that it needs were accepted. */
interface Rule {
  readonly needs: readonly OptionKey[];
  readonly check: (config: Config, chosen: ReadonlyMap<string, Setting>) => Iterable<string>;
}

/** Lists the problems of options that are right one by one. */
export function* checkTogether({ config, rejected, chosen }: Given): Generator<string> {
  for (const { needs, check } of RULES)
    if (needs.every((key) => !rejected.has(key))) yield* check(pick(config as Config, needs), chosen);
}

/**
 * A rule sees what it says that it needs and nothing else, so that no rule can rest on a value that was not accepted.
 */
function pick(config: Config, keys: readonly OptionKey[]): Config {
  return Object.fromEntries(keys.map((key) => [key, config[key]])) as unknown as Config;
}

/** A rule over these options; what it is given of the configuration is just these. */
function rule<Key extends OptionKey>(
  needs: readonly Key[],
  check: (config: Pick<Config, Key>, chosen: ReadonlyMap<string, Setting>) => Iterable<string>,
): Rule {
  return { needs, check };
}

const RULES: readonly Rule[] = [
  rule(['reservedCpus', 'reservedCpuCount'], function* (_config, chosen) {
    const list = chosen.get('reserved-cpus');
    const count = chosen.get('reserved-cpu-count');
    if (list && count)
      yield `${describePlace(list)} and ${describePlace(count)}: both say what is reserved; set only one of them`;
  }),
  rule(
    ['kubeletConfig', 'cpuManagerPolicy', 'podPolicies', 'reservedCpus', 'reservedCpuCount'],
    function* ({ kubeletConfig, cpuManagerPolicy, podPolicies }, chosen) {
      const isReserved = chosen.has('reserved-cpus') || chosen.has('reserved-cpu-count') || kubeletConfig !== undefined;
      if (isReserved || !canPin({ cpuManagerPolicy, podPolicies })) return;
      const pins = podPolicies.filter((policy) => policy !== 'none').join(', ');
      const need =
        cpuManagerPolicy === 'none'
          ? `pods may choose ${pins} (${placeIn(chosen, 'podPolicies')}), which needs at least one for the system`
          : `the ${cpuManagerPolicy} policy needs at least one for the system`;
      yield `no CPU is reserved, and ${need}; set --reserved-cpus or --reserved-cpu-count`;
    },
  ),
  rule(['mode', 'criEndpoint'], function* ({ mode, criEndpoint }, chosen) {
    if (mode === 'cri-proxy' && criEndpoint === undefined)
      yield `${placeIn(chosen, 'criEndpoint')}: the mode cri-proxy needs the CRI socket of the runtime; write its path`;
  }),
  rule(['mode', 'criEndpoint', 'criListen'], function* ({ mode, criEndpoint, criListen }, chosen) {
    if (mode === 'cri-proxy' && criEndpoint !== undefined && 'path' in criListen && isSame(criListen.path, criEndpoint))
      yield `${placeIn(chosen, 'criEndpoint')}: the proxy cannot listen on the socket of the runtime; set another --cri-listen`;
  }),
  rule(['podResourcesSocket', 'kubeletRootDir'], function* ({ podResourcesSocket, kubeletRootDir }, chosen) {
    if (podResourcesSocket !== undefined && isSame(podResourcesSocket, `${kubeletRootDir}/pod-resources/kubelet.sock`))
      yield `${placeIn(chosen, 'podResourcesSocket')}: this is the kubelet's own socket, which cpusetd asks; write another path`;
  }),
  rule(['mode', 'adminSocket', 'podResourcesSocket', 'criListen', 'nriSocket', 'criEndpoint'], checkSockets),
  rule(['healthAddress', 'metricsAddress'], function* ({ healthAddress, metricsAddress }, chosen) {
    const isOne =
      healthAddress !== undefined &&
      healthAddress.port !== 0 &&
      healthAddress.port === metricsAddress?.port &&
      healthAddress.host === metricsAddress.host;
    if (isOne)
      yield `${placeIn(chosen, 'healthAddress')} and ${placeIn(chosen, 'metricsAddress')}: both listen on one address; set another port for one of them`;
  }),
  rule(['healthAddress', 'httpAddress'], function* ({ healthAddress, httpAddress }, chosen) {
    const isOne =
      healthAddress !== undefined &&
      healthAddress.port !== 0 &&
      healthAddress.port === httpAddress?.port &&
      healthAddress.host === httpAddress.host;
    if (isOne)
      yield `${placeIn(chosen, 'healthAddress')} and ${placeIn(chosen, 'httpAddress')}: both listen on one address; set another port for one of them`;
  }),
  rule(
    ['auditPeriodMs', 'metricsAddress', 'httpAddress'],
    function* ({ auditPeriodMs, metricsAddress, httpAddress }, chosen) {
      if (auditPeriodMs !== undefined && metricsAddress === undefined && httpAddress === undefined)
        yield `${placeIn(chosen, 'auditPeriodMs')}: the results are metrics, which nobody can read; set --metrics-address`;
    },
  ),
  rule(['collectIntervalMs', 'qosActions', 'nodeResource', 'podResource', 'criEndpoint'], checkWithoutMeasuring),
  rule(['stateDir', 'lockDir', 'sysfsRoot', 'cgroupRoot'], checkDirectories),
  rule(['stateDir', 'mode', 'adminSocket', 'podResourcesSocket', 'criListen'], function* (config, chosen) {
    const taken = [
      '',
      'lock',
      ...[
        'state.json',
        'kubelet-config.json',
        'refusals.json',
        'irq-affinities.json',
        'qos-actions.json',
        'taken-cpus.json',
        'node-resources.json',
      ].flatMap((name) => [name, `${name}.tmp`]),
    ];
    for (const [key, path] of listListening(config))
      if (taken.some((name) => isSame(path, posix.join(config.stateDir, name))))
        yield `${placeIn(chosen, key)}: a file of the state directory has this path; write another`;
  }),
  rule(
    [
      ...(['kubeconfig', 'nodeResourceTopology', 'kubeEvents', 'nodeCondition', 'kubeletConfig'] as const),
      ...(['qosActions', 'nodeResource', 'podResource'] as const),
    ],
    checkWithoutApiServer,
  ),
  rule(['cpuManagerPolicy', 'podPolicies', 'cpuManagerPolicyOptions'], function* (config, chosen) {
    const inForce = [config.cpuManagerPolicy, ...config.podPolicies];
    const unused = checkOptionsAreUsed(inForce, config.cpuManagerPolicyOptions);
    if (unused && chosen.has('cpu-manager-policy-options'))
      yield `${placeIn(chosen, 'cpuManagerPolicyOptions')}: ${unused.because}`;
  }),
];

type Listening = Pick<Config, 'mode' | 'adminSocket' | 'podResourcesSocket' | 'criListen'>;

/** The sockets that we make, as far as they are in use. */
function* listListening({ mode, adminSocket, podResourcesSocket, criListen }: Listening) {
  yield ['adminSocket', adminSocket] as const;
  if (podResourcesSocket !== undefined) yield ['podResourcesSocket', podResourcesSocket] as const;
  if (mode === 'cri-proxy' && 'path' in criListen) yield ['criListen', criListen.path] as const;
}

/** No two options name one socket. The proxy's two sockets have a rule of their own. */
function* checkSockets(
  config: Listening & Pick<Config, 'nriSocket' | 'criEndpoint'>,
  chosen: ReadonlyMap<string, Setting>,
): Generator<string> {
  const { mode, nriSocket, criEndpoint } = config;
  const ours = [...listListening(config)];
  const theirs = [
    ...(mode === 'nri' ? [['nriSocket', nriSocket] as const] : []),
    ...(criEndpoint === undefined ? [] : [['criEndpoint', criEndpoint] as const]),
  ];
  const all: (readonly [OptionKey, string])[] = [...ours, ...theirs];
  for (const [index, [key, path]] of all.entries())
    for (const [other, otherPath] of all.slice(index + 1))
      if (isSame(path, otherPath) && !(key === 'criListen' && other === 'criEndpoint'))
        yield `${placeIn(chosen, key)} and ${placeIn(chosen, other)}: both name the socket ${path}; set another path for one of them`;
}

/** Files can't be made in sysfs or in cgroups, and every cpusetd of the host has to find the locks. */
function* checkDirectories(
  { stateDir, lockDir, sysfsRoot, cgroupRoot }: Pick<Config, 'stateDir' | 'lockDir' | 'sysfsRoot' | 'cgroupRoot'>,
  chosen: ReadonlyMap<string, Setting>,
): Generator<string> {
  for (const [key, dir] of [['stateDir', stateDir] as const, ['lockDir', lockDir] as const])
    for (const [other, root] of [['sysfsRoot', sysfsRoot] as const, ['cgroupRoot', cgroupRoot] as const])
      if (isInside(dir, root))
        yield `${placeIn(chosen, key)}: ${dir} lies in --${nameOf(other)} ${root}, where no files can be made; write another path`;
  if (isInside(lockDir, stateDir))
    yield `${placeIn(chosen, 'lockDir')}: ${lockDir} lies in --state-dir, and a cpusetd with another state would not find the locks; write another path`;
}

/**
 * Options that act by what was measured are refused where nothing is, and those that act by the runtime where it can't
 * be called.
 */
function* checkWithoutMeasuring(
  config: Pick<Config, 'collectIntervalMs' | 'qosActions' | 'nodeResource' | 'podResource' | 'criEndpoint'>,
  chosen: ReadonlyMap<string, Setting>,
): Generator<string> {
  const needs: readonly (readonly [key: OptionKey, isSet: boolean, callsRuntime: boolean])[] = [
    ['qosActions', config.qosActions === 'enforce', true],
    ['nodeResource', config.nodeResource !== 'off', false],
    ['podResource', config.podResource, true],
  ];
  for (const [key, isSet, callsRuntime] of needs) {
    if (isSet && config.collectIntervalMs === undefined)
      yield `${placeIn(chosen, key)}: this goes by what is measured; set --collect-interval`;
    if (isSet && callsRuntime && config.criEndpoint === undefined)
      yield `${placeIn(chosen, key)}: quotas are changed over the runtime's CRI socket; set --cri-endpoint`;
  }
}

/** Options that need the API server are refused without one. */
function* checkWithoutApiServer(
  config: Pick<
    Config,
    | ('kubeconfig' | 'nodeResourceTopology' | 'kubeEvents' | 'nodeCondition' | 'kubeletConfig')
    | ('qosActions' | 'nodeResource' | 'podResource')
  >,
  chosen: ReadonlyMap<string, Setting>,
): Generator<string> {
  if (config.kubeconfig !== undefined) return;
  const needs: readonly (readonly [key: OptionKey, isSet: boolean])[] = [
    ['nodeResourceTopology', config.nodeResourceTopology !== 'off'],
    ['kubeEvents', config.kubeEvents],
    ['nodeCondition', config.nodeCondition],
    ['kubeletConfig', config.kubeletConfig?.kind === 'configz'],
    ['qosActions', config.qosActions === 'enforce'],
    ['nodeResource', config.nodeResource !== 'off'],
    ['podResource', config.podResource],
  ];
  for (const [key, isSet] of needs)
    if (isSet) yield `${placeIn(chosen, key)}: this goes through the API server; set --kubeconfig`;
}

/** The place where the option was set; its flag where it has its default. */
function placeIn(chosen: ReadonlyMap<string, Setting>, key: OptionKey): string {
  return describePlace(chosen.get(nameOf(key)) ?? { name: nameOf(key), origin: { kind: 'flag' } });
}

/**
 * `/var/run` is `/run` on every Linux of today. Links that only the file system knows are looked at when a path is
 * used.
 */
function canonical(path: string): string {
  return posix.normalize(path).replace(/^\/var\/run(?=\/|$)/, '/run');
}

function isSame(a: string, b: string): boolean {
  return trimmed(a) === trimmed(b);
}

function isInside(path: string, folder: string): boolean {
  const outer = trimmed(folder);
  return outer !== '' && `${trimmed(path)}/`.startsWith(`${outer}/`);
}

function trimmed(path: string): string {
  return canonical(path).replace(/\/+$/, '');
}
