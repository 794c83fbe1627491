import { tryParseCpuList } from '../../core/cpuset';
import { plural } from '../../core/text';
import type { KubeletFacts, NamedSocket, NodeFacts } from './facts';
import { error, ok, warning, type Finding } from './finding';
import { HOST_CHECKS } from './judge-host';
import { NUMA_CHECKS } from './judge-numa';

/** One question about the facts. */
export type Check = (facts: NodeFacts) => readonly Finding[];

/** Judges the facts, in the order in which an operator would put things right. Pure. */
export function judgeFacts(facts: NodeFacts): readonly Finding[] {
  return CHECKS.flatMap((check) => check(facts));
}

const CHECKS: readonly Check[] = [
  checkOptions,
  checkCri,
  checkRuntime,
  checkNri,
  checkKubeletPolicy,
  ...NUMA_CHECKS,
  checkReservation,
  checkRemarks,
  checkEndpoint,
  ...HOST_CHECKS,
  checkRunning,
];

function checkOptions({ optionProblems, machine, optionsFrom }: NodeFacts): readonly Finding[] {
  const those = optionsFrom === undefined ? 'they' : `those of ${optionsFrom}`;
  if (optionProblems.length === 0)
    return [ok('options', `${those} are valid${machine.ok ? ', and fit this machine' : ''}`)];
  return optionProblems.map((problem) => error('options', problem, 'correct the option'));
}

function checkRuntime({ runtime }: NodeFacts): readonly Finding[] {
  if (!runtime) return [];
  if (!runtime.ok) return [warning('runtime', runtime.because, 'look at the log of the runtime')];
  const { name, version } = runtime.value;
  return [ok('runtime', `${name} ${version}`)];
}

const ABSENT: Readonly<Record<Exclude<NamedSocket['presence'], 'live'>, string>> = {
  absent: 'is not there',
  stale: 'is there, and nobody listens',
  denied: 'may not be opened by this user',
  'not-a-socket': 'is no socket',
};

const describe = ({ path, presence }: NamedSocket): string =>
  `${path} ${presence === 'live' ? 'answers' : ABSENT[presence]}`;

/** Beside NRI the CRI socket only keeps the runtime's records; in front of the kubelet nothing works without it. */
function checkCri({ mode, cri }: NodeFacts): readonly Finding[] {
  if (!cri) return [];
  if (cri.presence === 'live') return [ok('cri', describe(cri))];
  const remedy = 'start the runtime, or name its socket with --cri-endpoint';
  return [mode === 'nri' ? warning('cri', describe(cri), remedy) : error('cri', describe(cri), remedy)];
}

function checkNri({ mode, nri, onUnanswered, runtime }: NodeFacts): readonly Finding[] {
  if (mode !== 'nri') return [];
  const known = runtime?.ok === true ? runtime.value : undefined;
  if (nri.presence === 'live') return [judgeNriVersion(describe(nri), known), ...checkUnanswered(onUnanswered, known)];
  if (nri.presence === 'denied') return [error('nri', describe(nri), 'run as root')];
  return [error('nri', describe(nri), remedyForNri(known))];
}

/** The versions of NRI in releases of runtimes, from the newest down: each from this release on. Of their go.mod. */
const NRI_VERSIONS: Readonly<Record<string, readonly (readonly [release: string, nri: string])[]>> = {
  containerd: [
    ['2.3.0', '0.12.0'],
    ['2.2.1', '0.11.0'],
    ['2.2.0', '0.10.0'],
    ['1.7.26', '0.8.0'],
    ['1.7.16', '0.6.1'],
    ['1.7.14', '0.6.0'],
    ['1.7.7', '0.4.0'],
    ['1.7.0', '0.3.0'],
  ],
  'cri-o': [
    ['1.37.0', '0.12.0'],
    ['1.35.0', '0.11.0'],
    ['1.34.0', '0.10.0'],
    ['1.32.0', '0.9.0'],
    ['1.31.0', '0.6.1'],
    ['1.29.2', '0.6.0'],
    ['1.29.0', '0.5.0'],
    ['1.26.0', '0.3.0'],
  ],
};

type Release = readonly [major: number, minor: number, patch: number];

function readRelease(text: string): Release {
  const [, ...parts] = /^v?(\d+)\.(\d+)(?:\.(\d+))?/.exec(text) ?? [];
  return [0, 1, 2].map((i) => Number(parts[i] ?? 0)) as unknown as Release;
}

function isAtLeast(release: Release, other: Release): boolean {
  const differs = release.findIndex((part, i) => part !== other[i]);
  return differs === -1 || release[differs]! > other[differs]!;
}

/**
 * Before 0.6.1 the registration of a plugin and the start of a container could block each other for good (containerd
 * issue 10085).
 */
function judgeNriVersion(
  text: string,
  runtime: { readonly name: string; readonly version: string } | undefined,
): Finding {
  const release = readRelease(runtime?.version ?? '');
  const [, version] = NRI_VERSIONS[runtime?.name ?? '']?.find(([from]) => isAtLeast(release, readRelease(from))) ?? [];
  if (version === undefined) return ok('nri', text);
  const described = `${text}; ${runtime!.name} ${runtime!.version} has NRI ${version} or newer`;
  if (isAtLeast(readRelease(version), [0, 6, 1])) return ok('nri', described);
  const update = runtime!.name === 'containerd' ? 'containerd 1.7.16' : 'CRI-O 1.31';
  return warning(
    'nri',
    `${described}: a start of cpusetd while a container starts may block the runtime`,
    `update to ${update} or newer`,
  );
}

/** The runtime gives its version of NRI only to a plugin: then an alarm says that it is too old. */
function checkUnanswered(
  onUnanswered: NodeFacts['onUnanswered'],
  runtime: { readonly name: string; readonly version: string } | undefined,
): readonly Finding[] {
  if (onUnanswered === 'allow') return [];
  const runtimeName = runtime === undefined ? 'the runtime' : `${runtime.name} ${runtime.version}`;
  return [
    ok(
      'on-unanswered',
      `refuse takes effect if ${runtimeName} has NRI 0.12.4 or newer, which is known when cpusetd is connected: see the alarm requests-allowed in cpusetd status`,
    ),
  ];
}

/** NRI is on by default since containerd 2.0 and CRI-O 1.30. */
function remedyForNri(runtime: { readonly name: string; readonly version: string } | undefined): string {
  const other = 'or use --mode cri-proxy';
  if (runtime?.name === 'containerd') {
    const [, major = '0', minor = '0'] = /^v?(\d+)\.(\d+)/.exec(runtime.version) ?? [];
    if (Number(major) === 1 && Number(minor) < 7)
      return `containerd ${runtime.version} has no NRI: use 1.7 or newer, ${other}`;
    return `set disable = false in [plugins."io.containerd.nri.v1.nri"] of /etc/containerd/config.toml and restart containerd, name its socket with --nri-socket, ${other}`;
  }
  if (runtime?.name === 'cri-o')
    return `set enable_nri = true in [crio.nri] of /etc/crio/crio.conf.d/nri.conf and restart CRI-O, name its socket with --nri-socket, ${other}`;
  return `switch NRI on in the runtime and restart it, name its socket with --nri-socket, ${other}`;
}

const SWITCH_OFF = "set the kubelet's cpuManagerPolicy to none, delete its cpu_manager_state and restart it";

function checkKubeletPolicy({ kubelet }: NodeFacts): readonly Finding[] {
  const { state, statePath } = kubelet;
  const { policy, saidBy } = policyOf(kubelet);
  if (policy === 'static') return [error('kubelet', `${saidBy}: two managers would fight over CPUs`, SWITCH_OFF)];
  switch (state) {
    case 'static':
      return policy === 'none'
        ? [
            error(
              'kubelet',
              `${statePath} says static, and the kubelet's policy is none: it will not start`,
              `delete ${statePath}`,
            ),
          ]
        : [error('kubelet', `${statePath} says that the kubelet's CPU manager is, or was, static`, SWITCH_OFF)];
    case 'foreign':
      return [
        warning(
          'kubelet',
          `${statePath} can't be read as what a kubelet writes`,
          'run as root; if that is not it, find out what made it, and remove it',
        ),
      ];
    default:
      return [
        ok(
          'kubelet',
          policy === 'none'
            ? `its CPU manager is off (${saidBy})`
            : `nothing says that its CPU manager is on (${statePath})`,
        ),
      ];
  }
}

/** A flag wins over the file. */
function policyOf({ flags, config }: KubeletFacts): { readonly policy?: string; readonly saidBy?: string } {
  if (flags?.cpuManagerPolicy !== undefined)
    return { policy: flags.cpuManagerPolicy, saidBy: `it runs with --cpu-manager-policy=${flags.cpuManagerPolicy}` };
  if (config?.read.ok !== true) return {};
  const { cpuManagerPolicy } = config.read.value;
  return { policy: cpuManagerPolicy, saidBy: `${config.path} has cpuManagerPolicy: ${cpuManagerPolicy}` };
}

function checkReservation({ kubelet, reserved }: NodeFacts): readonly Finding[] {
  const { config, flags } = kubelet;
  const ours = reserved.isEmpty ? 'nothing' : `CPUs ${reserved.toString()}`;
  const remedy = 'reserve the same in both: the scheduler counts by the kubelet';
  const unknown = (text: string): readonly Finding[] => [
    warning(
      'reservation',
      `${text}: it can't be compared`,
      "name the kubelet's configuration file with --kubelet-config",
    ),
  ];
  const compare = (list: string): readonly Finding[] =>
    tryParseCpuList(list)?.equals(reserved) === true
      ? [ok('reservation', `the kubelet and cpusetd reserve CPUs ${reserved.toString()}`)]
      : [error('reservation', `the kubelet reserves CPUs ${list}, cpusetd ${ours}`, remedy)];
  if (flags?.reservedCpus !== undefined) return compare(flags.reservedCpus);
  if (!config) return unknown("the kubelet's configuration was not found");
  if (!config.read.ok) return unknown(`${config.path}: ${config.read.because}`);
  const { reservedSystemCpus: list, reservedMilliCpu } = config.read.value;
  if (list !== undefined) return compare(list);
  if (flags?.reservesByFlag)
    return [
      warning(
        'reservation',
        'the kubelet has --kube-reserved or --system-reserved, which is not read here',
        'compare it with the reservation of cpusetd, or set reservedSystemCPUs in its configuration',
      ),
    ];
  const count = Math.ceil(reservedMilliCpu / 1000);
  if (count === reserved.size) return [ok('reservation', `the kubelet and cpusetd reserve ${plural(count, 'CPU')}`)];
  return [error('reservation', `the kubelet reserves ${reservedMilliCpu}m CPU, cpusetd ${ours}`, remedy)];
}

function checkRemarks({ kubelet: { config } }: NodeFacts): readonly Finding[] {
  return (config?.remarks ?? []).map((remark) => warning('kubelet', remark, "correct the kubelet's configuration"));
}

/** In front of the kubelet cpusetd is of use only when the kubelet connects to it. */
function checkEndpoint({ criListen, kubelet: { flags, config } }: NodeFacts): readonly Finding[] {
  if (criListen === undefined) return [];
  const endpoint = flags?.runtimeEndpoint ?? (config?.read.ok === true ? config.read.value.runtimeEndpoint : undefined);
  if (endpoint === undefined) return [];
  if (endpoint.replace(/^unix:\/\//, '') === criListen) return [ok('endpoint', `the kubelet connects to ${criListen}`)];
  return [
    warning(
      'endpoint',
      `the kubelet connects to ${endpoint}, and cpusetd will listen on ${criListen}`,
      `set the kubelet's containerRuntimeEndpoint to unix://${criListen} when cpusetd runs`,
    ),
  ];
}

function checkRunning({ admin }: NodeFacts): readonly Finding[] {
  return admin.presence === 'live' ? [ok('running', `cpusetd answers on ${admin.path}`)] : [];
}
