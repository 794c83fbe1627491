import type { KubeletFacts, NodeFacts } from './facts';
import { ok, warning, type Finding } from './finding';

/**
 * The checks of what CPUs are chosen beside: the memory and the devices that the kubelet's other managers have chosen,
 * and huge pages.
 */
export const NUMA_CHECKS: readonly ((facts: NodeFacts) => readonly Finding[])[] = [
  checkMemoryManager,
  checkTopologyManager,
  checkHugePages,
];

function checkMemoryManager({ kubelet, topologyManagerPolicy: ours }: NodeFacts): readonly Finding[] {
  const said = findSaid(kubelet, 'memoryManagerPolicy', 'memory-manager-policy');
  if (said?.policy !== 'Static') return [];
  const kept = `${said.by}: the memory nodes that it chooses are kept`;
  if (ours === undefined) return [ok('memory-manager', kept)];
  if (ours === 'restricted' || ours === 'single-numa-node')
    return [ok('memory-manager', `${kept}; exclusive CPUs are near them, or the container is refused (${ours})`)];
  return [
    warning(
      'memory-manager',
      `${kept}; a container gets exclusive CPUs far from them where none are free near them (topology-manager-policy ${ours})`,
      'if memory must be near, set topology-manager-policy of cpusetd to restricted or single-numa-node',
    ),
  ];
}

/** With its CPU manager off, the kubelet's topology manager has nothing to ask about CPUs. */
function checkTopologyManager({ kubelet, topologyManagerPolicy: ours }: NodeFacts): readonly Finding[] {
  const said = findSaid(kubelet, 'topologyManagerPolicy', 'topology-manager-policy');
  if (said === undefined || said.policy === 'none') return [];
  const memory = findSaid(kubelet, 'memoryManagerPolicy', 'memory-manager-policy')?.policy;
  const aligned = memory === 'Static' ? 'memory and devices' : 'devices';
  const cpus = ours === undefined ? '' : `; CPUs go by topology-manager-policy of cpusetd, which is ${ours}`;
  return [ok('topology-manager', `${said.by}: it aligns ${aligned} only${cpus}`)];
}

/**
 * The proxy reads the kubelet's own requests, and the API server has pods' specs: only a plugin without them depends on
 * what the runtime sends.
 */
function checkHugePages({ mode, machine, runtime, cgroups, readsSpecs }: NodeFacts): readonly Finding[] {
  if (!machine.ok || machine.value.hugePages === '') return [];
  const there = machine.value.hugePages;
  const obstacles = mode === 'cri-proxy' || readsSpecs ? [] : [...judgeHugetlb(cgroups), ...judgeLimits(runtime)];
  if (obstacles.length === 0) return [ok('huge-pages', there)];
  return obstacles.map(({ text, remedy }) =>
    warning('huge-pages', `${there}; ${text}`, `${remedy}, or set kubeconfig`),
  );
}

/** Something because of which the runtime does not say which containers ask for huge pages, or may not. */
type Obstacle = Required<Pick<Finding, 'text' | 'remedy'>>;

const AS_NONE = 'places these containers as if they asked for none';

/** Without the controller no runtime has limits of huge pages in its specs. */
function judgeHugetlb(cgroups: NodeFacts['cgroups']): readonly Obstacle[] {
  if (!cgroups.ok || !cgroups.value.lacksHugetlb) return [];
  const mount = cgroups.value.version === 1 ? ' and mount the controller beside the others' : '';
  return [
    {
      text: `without the cgroup controller hugetlb no runtime says which containers ask for them, so cpusetd ${AS_NONE}`,
      remedy: `use a kernel with CONFIG_CGROUP_HUGETLB${mount}`,
    },
  ];
}

function judgeLimits(runtime: NodeFacts['runtime']): readonly Obstacle[] {
  const { name, settings } = runtime?.ok ? runtime.value : { name: 'the runtime', settings: undefined };
  const limits = settings?.ok ? settings.value.hugePages : 'not-known';
  if (limits === 'reported') return [];
  const remedy = 'set disable_hugetlb_controller = false in the configuration of containerd and restart it';
  if (limits === 'dropped')
    return [{ text: `${name} does not say which containers ask for them, so cpusetd ${AS_NONE}`, remedy }];
  const because = settings?.ok === false ? ` (${settings.because})` : '';
  return [
    {
      text: `it is not known if ${name} says which containers ask for them${because}; if not, cpusetd ${AS_NONE}`,
      remedy: settings ? `with containerd, ${remedy}` : 'let the runtime answer on --cri-endpoint and check again',
    },
  ];
}

interface Said {
  readonly policy: string;
  /** The place where the kubelet has it, as the start of a sentence. */
  readonly by: string;
}

/** A flag wins over the file. Undefined where neither names a policy that does anything. */
function findSaid(
  { flags, config }: KubeletFacts,
  field: 'memoryManagerPolicy' | 'topologyManagerPolicy',
  flag: string,
): Said | undefined {
  const given = flags?.[field];
  if (given !== undefined) return { policy: given, by: `the kubelet runs with --${flag}=${given}` };
  const policy = config?.read.ok === true ? config.read.value[field] : undefined;
  return policy === undefined ? undefined : { policy, by: `${config!.path} has ${field}: ${policy}` };
}
