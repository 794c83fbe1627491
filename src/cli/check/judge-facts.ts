import { CpuListError, CpuSet, parseCpuList } from '../../core/cpuset';
import { plural } from '../../core/text';
import type { NamedSocket, NodeFacts } from './facts';

/** One result of the checks. */
export interface Finding {
  /** Short and fixed: programs may go by it. */
  readonly check: string;
  readonly level: 'ok' | 'warning' | 'error';
  readonly text: string;
  /** What to do; absent for `ok`. */
  readonly remedy?: string;
}

type Check = (facts: NodeFacts) => readonly Finding[];

const ok = (check: string, text: string): Finding => ({ check, level: 'ok', text });
const warning = (check: string, text: string, remedy: string): Finding => ({ check, level: 'warning', text, remedy });
const error = (check: string, text: string, remedy: string): Finding => ({ check, level: 'error', text, remedy });

/** What the facts mean for cpusetd, in the order in which an operator would put things right. Pure. */
export function judgeFacts(facts: NodeFacts): readonly Finding[] {
  return CHECKS.flatMap((check) => check(facts));
}

const CHECKS: readonly Check[] = [
  checkOptions,
  checkCri,
  checkRuntime,
  checkNri,
  checkKubeletPolicy,
  checkReservation,
  checkMachine,
  checkIsolation,
  checkCgroups,
  checkManagers,
  checkAffinity,
  checkInotify,
  checkStateDir,
  checkRunning,
];

function checkOptions({ optionProblems }: NodeFacts): readonly Finding[] {
  if (optionProblems.length === 0) return [ok('options', 'they are valid, and fit this machine')];
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

function checkNri({ mode, nri, runtime }: NodeFacts): readonly Finding[] {
  if (mode !== 'nri') return [];
  if (nri.presence === 'live') return [ok('nri', describe(nri))];
  if (nri.presence === 'denied') return [error('nri', describe(nri), 'run as root')];
  return [error('nri', describe(nri), remedyForNri(runtime?.ok === true ? runtime.value : undefined))];
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
  const { state, statePath, config } = kubelet;
  const policy = config?.read.ok === true ? config.read.value.cpuManagerPolicy : undefined;
  if (policy === 'static')
    return [
      error('kubelet', `${config!.path} has cpuManagerPolicy: static: two managers would fight over CPUs`, SWITCH_OFF),
    ];
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
        warning('kubelet', `${statePath} is nothing that a kubelet writes`, 'find out what made it, and remove it'),
      ];
    default:
      return [
        ok(
          'kubelet',
          policy === 'none' ? 'its CPU manager is off' : `nothing says that its CPU manager is on (${statePath})`,
        ),
      ];
  }
}

function checkReservation({ kubelet, reserved }: NodeFacts): readonly Finding[] {
  const { config } = kubelet;
  if (!config) return [];
  if (!config.read.ok)
    return [
      warning(
        'reservation',
        `${config.path}: ${config.read.because}`,
        "name the kubelet's configuration file with --kubelet-config",
      ),
    ];
  const { reservedSystemCpus: list, reservedMilliCpu } = config.read.value;
  const ours = reserved.isEmpty ? 'nothing' : `CPUs ${reserved.toString()}`;
  const remedy = 'reserve the same in both: the scheduler counts by the kubelet';
  if (list !== undefined) {
    const theirs = parseOwn(list);
    if (theirs?.equals(reserved) === true)
      return [ok('reservation', `the kubelet and cpusetd reserve CPUs ${reserved.toString()}`)];
    return [error('reservation', `the kubelet reserves CPUs ${list}, cpusetd ${ours}`, remedy)];
  }
  const count = Math.ceil(reservedMilliCpu / 1000);
  if (count === reserved.size) return [ok('reservation', `the kubelet and cpusetd reserve ${plural(count, 'CPU')}`)];
  return [error('reservation', `the kubelet reserves ${reservedMilliCpu}m CPU, cpusetd ${ours}`, remedy)];
}

function parseOwn(list: string): CpuSet | undefined {
  try {
    return parseCpuList(list);
  } catch (fault) {
    if (fault instanceof CpuListError) return undefined;
    throw fault;
  }
}

function checkMachine({ machine }: NodeFacts): readonly Finding[] {
  if (!machine.ok) return [error('machine', machine.because, 'mount sysfs, or name it with --sysfs-root')];
  const { online, offline } = machine.value;
  const text = `CPUs ${online.toString()} are online${offline.isEmpty ? '' : `, ${offline.toString()} offline`}`;
  return [ok('machine', text)];
}

function checkIsolation({ machine, reserved }: NodeFacts): readonly Finding[] {
  if (!machine.ok) return [];
  const isolated = machine.value.isolated.minus(reserved);
  if (isolated.isEmpty) return [ok('isolcpus', 'the kernel isolates no CPU that can be given out')];
  const text = `the kernel isolates ${isolated.toString()} (isolcpus): threads on these CPUs stay where they start`;
  return [warning('isolcpus', text, 'remove isolcpus from the kernel command line, or reserve these CPUs')];
}

function checkCgroups({ cgroups, kubelet }: NodeFacts): readonly Finding[] {
  if (!cgroups.ok)
    return [
      error('cgroup', cgroups.because, 'mount cgroups with the cpuset controller, or name them with --cgroup-root'),
    ];
  const { version, notWritable, driver } = cgroups.value;
  const configured = kubelet.config?.read.ok === true ? kubelet.config.read.value.cgroupDriver : undefined;
  const text = `version ${version}${driver ? `, driver ${driver}` : ''}`;
  return [
    notWritable === undefined
      ? ok('cgroup', text)
      : warning('cgroup', `${text}; ${notWritable}`, 'make cgroups writable: creations are slower without'),
    ...(driver && configured !== undefined && driver !== configured
      ? [
          warning(
            'cgroup-driver',
            `the kubelet's configuration says ${configured}, and its pods are in cgroups of ${driver}`,
            'set the same driver in the kubelet and the runtime',
          ),
        ]
      : []),
  ];
}

function checkManagers({ managers }: NodeFacts): readonly Finding[] {
  if (managers.length === 0) return [ok('managers', 'no other manager of CPUs was found')];
  return [error('managers', `${managers.join(', ')} runs here, and manages CPUs too`, 'run one manager of CPUs')];
}

function checkAffinity({ machine, hostAffinity, tunedProfile }: NodeFacts): readonly Finding[] {
  const findings: Finding[] = [];
  if (machine.ok && hostAffinity && !machine.value.online.isSubsetOf(hostAffinity)) {
    const text = `the first process may use CPUs ${hostAffinity.toString()} only, and everything that systemd starts inherits that`;
    findings.push(
      warning(
        'affinity',
        text,
        'remove CPUAffinity= from /etc/systemd/system.conf, unless the runtime has one of its own',
      ),
    );
  }
  if (tunedProfile !== undefined && /partition|isolat|realtime|nfv/.test(tunedProfile)) {
    const text = `tuned has the profile ${tunedProfile}, which moves threads and interrupts off CPUs`;
    findings.push(
      warning('tuned', text, 'let its isolated CPUs be those that are not reserved, or choose another profile'),
    );
  }
  return findings.length > 0 ? findings : [ok('affinity', 'nothing narrows the CPUs of the host')];
}

/** inotify watches that a node with some hundred containers needs, two for each. */
const FEW_WATCHES = 4_096;
const FEW_INSTANCES = 16;

function checkInotify({ inotify }: NodeFacts): readonly Finding[] {
  if (!inotify) return [];
  const { watches, instances } = inotify;
  const text = `${watches} watches, ${instances} instances`;
  if (watches >= FEW_WATCHES && instances >= FEW_INSTANCES) return [ok('inotify', text)];
  return [
    warning(
      'inotify',
      text,
      `raise fs.inotify.max_user_watches to ${FEW_WATCHES} and fs.inotify.max_user_instances to ${FEW_INSTANCES} at least`,
    ),
  ];
}

function checkStateDir({ stateDir }: NodeFacts): readonly Finding[] {
  const { path, problem, isInMemory } = stateDir;
  if (problem !== undefined) return [error('state-dir', problem, 'make it writable, or name another --state-dir')];
  if (isInMemory)
    return [
      warning('state-dir', `${path} is in memory: a reboot forgets what was promised`, 'name a --state-dir on a disk'),
    ];
  return [ok('state-dir', `${path} can be written`)];
}

function checkRunning({ admin }: NodeFacts): readonly Finding[] {
  return admin.presence === 'live' ? [ok('running', `cpusetd answers on ${admin.path}`)] : [];
}
