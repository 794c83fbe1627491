import { basename } from 'node:path';
import { CpuSet } from '../../core/cpuset';
import type { JudgedBound } from '../../app/node/read-bound';
import { plural } from '../../core/text';
import type { NodeFacts } from './facts';
import { error, ok, warning, type Finding } from './finding';

/** The checks of the machine, its kernel, and what runs on the host. */
export const HOST_CHECKS: readonly ((facts: NodeFacts) => readonly Finding[])[] = [
  checkMachine,
  checkIsolation,
  checkCgroups,
  checkContainers,
  checkManagers,
  checkInterrupts,
  checkIrqbalance,
  checkAffinity,
  checkInotify,
  checkStateDir,
  checkState,
  checkPrograms,
];

function checkMachine({ machine }: NodeFacts): readonly Finding[] {
  if (!machine.ok)
    return [error('machine', machine.because, machine.remedy ?? 'mount sysfs, or name it with --sysfs-root')];
  const { online, offline, kinds, caches, ignored } = machine.value;
  const text = [
    `CPUs ${online.toString()} are online${offline.isEmpty ? '' : `, ${offline.toString()} offline`}`,
    ...(kinds === '' ? [] : [kinds]),
    caches,
  ].join('; ');
  const remedy = "if that is not meant so, look at the machine's firmware and at the command line of its kernel";
  return [ok('machine', text), ...ignored.map((sentence) => warning('machine', sentence, remedy))];
}

function checkIsolation({ machine, reserved, kernelParameters }: NodeFacts): readonly Finding[] {
  if (!machine.ok) return [];
  const isolated = machine.value.isolated.minus(reserved);
  const also = kernelParameters.length > 0 ? ` (beside it: ${kernelParameters.join(', ')})` : '';
  if (isolated.isEmpty) return [ok('isolcpus', `the kernel isolates no CPU that can be given out${also}`)];
  const text = `the kernel isolates ${isolated.toString()} (isolcpus): threads on these CPUs stay where they start${also}`;
  return [warning('isolcpus', text, 'remove isolcpus from the kernel command line, or reserve these CPUs')];
}

function checkCgroups({ cgroups, kubelet, machine, reserved }: NodeFacts): readonly Finding[] {
  if (!cgroups.ok)
    return [
      error('cgroup', cgroups.because, 'mount cgroups with the cpuset controller, or name them with --cgroup-root'),
    ];
  const { version, notWritable, driver, pods, bound } = cgroups.value;
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
    ...(pods?.hasCpuset === false
      ? [
          error(
            'pods-cgroup',
            `${pods.cgroup} has no cpusets: the controller is not enabled there`,
            'restart the kubelet; if that is not enough, look if something removes +cpuset from cgroup.subtree_control of the root',
          ),
        ]
      : []),
    ...(bound && machine.ok ? judgePodCpus(bound, machine.value.online.minus(reserved)) : []),
  ];
}

/** `needed`: online CPUs that are not reserved. */
function judgePodCpus(judged: JudgedBound, needed: CpuSet): readonly Finding[] {
  if (!judged.ok)
    return [
      error(
        'pods-cgroup',
        `the CPUs that pods can have are not known: ${judged.because}`,
        'make the cgroups of the node readable, or correct --cgroup-root',
      ),
    ];
  const { bound } = judged;
  const lacking = bound ? needed.minus(bound.cpus) : CpuSet.empty;
  if (!bound || lacking.isEmpty) return [];
  const { cgroup, cpus } = bound;
  return [
    error(
      'pods-cgroup',
      `the cgroup ${cgroup} has CPUs ${cpus.toString()} only: ${lacking.toString()} can't be given out`,
      cgroup.endsWith('.slice')
        ? `remove AllowedCPUs= of ${basename(cgroup)} from systemd, find out what wrote its cpuset, or reserve the others`
        : 'give it the others, or reserve them',
    ),
  ];
}

const SAME_DRIVER =
  'set the same cgroup driver in the kubelet (cgroupDriver) and in the runtime (SystemdCgroup of containerd, cgroup_manager of CRI-O)';

/** The cgroup of a container that runs has to be where the kubelet's and the runtime's settings say. */
function checkContainers({ containers = [], unseenContainers }: NodeFacts): readonly Finding[] {
  const judged = containers.flatMap(({ id, cgroup }) => {
    if (cgroup.kind !== 'found') return [`container ${id}: ${cgroup.because}`];
    const { path, expected } = cgroup;
    return expected === undefined
      ? []
      : [`container ${id}: its cgroup is ${path}, and its name stands for ${expected}`];
  });
  const [first] = judged;
  const looked = plural(containers.length, 'running container');
  if (first !== undefined)
    return [error('container-cgroups', `${judged.length} of ${looked} elsewhere; ${first}`, SAME_DRIVER)];
  if (unseenContainers !== undefined)
    return [warning('container-cgroups', `not all were looked at: ${unseenContainers}`, 'see the log of the runtime')];
  if (containers.length === 0) return [];
  return [ok('container-cgroups', `${looked}: each where the kubelet and the runtime say`)];
}

const SEE_HOST = 'run it on the host, or with hostPID: true';

function checkManagers({ managers, seesHost }: NodeFacts): readonly Finding[] {
  if (managers.length > 0)
    return [error('managers', `${managers.join(', ')} runs here, and manages CPUs too`, 'run one manager of CPUs')];
  if (!seesHost) return [warning('managers', 'processes of the host can not be seen here', SEE_HOST)];
  return [ok('managers', 'no other manager of CPUs was found')];
}

function checkInterrupts({ interrupts: { areSteered, notWritable } }: NodeFacts): readonly Finding[] {
  if (!areSteered) return [];
  if (notWritable === undefined) return [ok('interrupts', 'they can be moved off exclusive CPUs')];
  const text = `none can be moved off exclusive CPUs: /proc/irq can't be written (${notWritable})`;
  return [error('interrupts', text, 'run cpusetd as a service of the host, or set --irq-affinity off')];
}

function checkIrqbalance({ irqbalance, interrupts: { areSteered } }: NodeFacts): readonly Finding[] {
  if (!irqbalance) return [];
  const text = areSteered
    ? 'irqbalance runs, and moves interrupts back that cpusetd moves off exclusive CPUs'
    : 'irqbalance runs, and may put interrupts on exclusive CPUs';
  return [
    warning(
      'irqbalance',
      text,
      'name the CPUs that are not reserved in IRQBALANCE_BANNED_CPULIST of its settings, or stop it',
    ),
  ];
}

function checkAffinity({ machine, hostAffinity, tuned, reserved }: NodeFacts): readonly Finding[] {
  const findings: Finding[] = [];
  if (machine.ok && hostAffinity && !machine.value.online.isSubsetOf(hostAffinity)) {
    const text = `the first process may use CPUs ${hostAffinity.toString()} only, and everything that systemd starts inherits that`;
    findings.push(
      warning(
        'affinity',
        text,
        'remove CPUAffinity= from system.conf of systemd, unless the runtime has one of its own',
      ),
    );
  }
  if (tuned && (tuned.isolatedCores !== undefined || /partition|isolat|realtime|nfv/.test(tuned.profile)))
    findings.push(judgeTuned(tuned, machine.ok ? machine.value.online.minus(reserved) : CpuSet.empty));
  return findings.length > 0 ? findings : [ok('affinity', 'nothing narrows the CPUs of the host')];
}

/**
 * The profiles that partition a machine keep threads and interrupts off their isolated CPUs: those that cpusetd gives
 * out, at best.
 */
function judgeTuned({ profile, isolatedCores }: NonNullable<NodeFacts['tuned']>, allocatable: CpuSet): Finding {
  const text = `tuned has the profile ${profile}${isolatedCores === undefined ? '' : `, isolated_cores=${isolatedCores}`}`;
  if (isolatedCores !== undefined && isolatedCores === allocatable.toString())
    return ok('tuned', `${text}: those that are not reserved`);
  return warning(
    'tuned',
    `${text}: it moves threads and interrupts off CPUs`,
    `let its isolated_cores be those that are not reserved (${allocatable.toString()}), or choose another profile`,
  );
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

/** Room for the state, its next version and a journal. */
const MIN_FREE_BYTES = 64 * 2 ** 20;

function checkStateDir({ stateDir }: NodeFacts): readonly Finding[] {
  const { path, problem, isInMemory, freeBytes } = stateDir;
  if (problem !== undefined) return [error('state-dir', problem, 'make it writable, or name another --state-dir')];
  if (isInMemory)
    return [
      warning('state-dir', `${path} is in memory: a reboot forgets what was promised`, 'name a --state-dir on a disk'),
    ];
  if (freeBytes !== undefined && freeBytes < MIN_FREE_BYTES)
    return [
      warning(
        'state-dir',
        `${path} has ${Math.floor(freeBytes / 2 ** 20)} MiB left: creations are refused when it is full`,
        'free some space, or name another --state-dir',
      ),
    ];
  return [ok('state-dir', `${path} can be written`)];
}

function checkState({ state: { use, text } }: NodeFacts): readonly Finding[] {
  if (use === 'good') return [ok('state', text)];
  const judge = use === 'refused' ? error : warning;
  return [judge('state', text, 'see cpusetd state verify')];
}

/** The oldest Node.js that cpusetd is tested with. */
const MIN_NODE = 20;

function checkPrograms({ programs: { node, hasFlock } }: NodeFacts): readonly Finding[] {
  const findings: Finding[] = [];
  if (Number(/^v(\d+)/.exec(node)?.[1]) < MIN_NODE)
    findings.push(error('programs', `Node.js ${node} is too old`, `install Node.js ${MIN_NODE} or newer`));
  if (!hasFlock)
    findings.push(
      error('programs', 'the command flock is not there, which guards against a second cpusetd', 'install util-linux'),
    );
  return findings.length > 0 ? findings : [ok('programs', `Node.js ${node}, flock`)];
}
