import { posix } from 'node:path';
import { CpuSet } from '../../core/cpuset';
import { type Container, hasCgroup } from '../../core/model/container';
import type { ContainerInfo } from '../../core/model/events';
import type { LiveCpusets } from '../../core/transition';
import {
  sampleThreads,
  type Observation,
  type Quota,
  type Seen,
  type ThreadSample,
  type UnreadQuota,
} from '../../core/verdict/observation';
import type { CgroupPlace, Cgroups, QuotaReading } from '../../host';
import { messageOf, type Faults } from '../alarms/faults';
import { podCgroupOf, type ContainerCgroups } from './container-cgroups';

/** Containers whose threads are read in one sweep, in turn: each thread costs a read. */
const SAMPLED_CONTAINERS = 8;
const SAMPLED_THREADS = 16;

/** All that is needed to read containers. */
type ReadableCgroups = Pick<ContainerCgroups, 'files' | 'finder'>;

/**
 * Returns the live cpusets of those containers that run; one that can't be read is left out. On cgroup version 1 a new
 * cgroup gets its parent's CPUs, since no process could run in it without any: a container with just these has no
 * cpuset of its own, and is left out too.
 */
export function readLiveCpusets({ files, finder }: ReadableCgroups, containers: readonly ContainerInfo[]): LiveCpusets {
  const live = new Map<string, CpuSet>();
  for (const container of containers) {
    if (container.phase !== 'running') continue;
    const observation = finder.withCgroup(container, ({ path }) => {
      const seen = observeCpuset(files, path);
      return seen.kind === 'seen' && isParents(files, path, seen.cpus) ? NO_OWN : seen;
    });
    if (observation.kind === 'seen') live.set(container.id, observation.cpus);
  }
  return live;
}

const NO_OWN = { kind: 'no-own' } as const;

function isParents(cgroups: Cgroups, path: string, cpus: CpuSet): boolean {
  if (cgroups.version !== 1) return false;
  const parent = cgroups.readCpus(posix.dirname(path));
  return parent.kind === 'found' && parent.cpus.equals(cpus);
}

interface Look {
  readonly known: Observation | undefined;
  /** Of the pods that were looked at already. */
  readonly podQuotas: Map<string, QuotaReading>;
  readonly sampled: boolean;
}

/** Reads containers as a verdict needs it: cpuset, quotas where CPUs are owned, and some threads. */
export class ContainerObserver {
  /** Index of the container whose threads are read next. */
  private turn = 0;

  constructor(
    private readonly cgroups: ReadableCgroups,
    private readonly faults: Faults,
  ) {}

  /**
   * A fault in reading one makes that one unreadable. `before`: the last observation of a container. `sampled`:
   * containers whose threads are read too, none if absent.
   */
  observe(
    containers: readonly Container[],
    {
      before,
      sampled,
    }: { readonly before: (id: string) => Observation | undefined; readonly sampled?: ReadonlySet<string> },
  ): Map<string, Observation> {
    const podQuotas = new Map<string, QuotaReading>();
    return new Map(
      containers.map((container) => {
        const { id } = container;
        const look = { known: before(id), podQuotas, sampled: sampled?.has(id) === true };
        return [id, this.observeOne(container, look)];
      }),
    );
  }

  /** Chooses the containers whose threads are read now: some, and others the next time. */
  chooseSampled(containerIds: readonly string[]): ReadonlySet<string> {
    const first = this.turn < containerIds.length ? this.turn : 0;
    this.turn = first + SAMPLED_CONTAINERS;
    return new Set(containerIds.slice(first, this.turn));
  }

  private observeOne(container: Container, look: Look): Observation {
    try {
      const observation = this.observeContainer(container, look);
      this.faults.over('looking at', container.id);
      return observation;
    } catch (error) {
      this.faults.note('looking at', error, container.id);
      return { kind: 'unreadable', because: `a fault of cpusetd in looking at it: ${messageOf(error)}` };
    }
  }

  private observeContainer(container: Container, look: Look): Observation {
    if (!hasCgroup(container)) return { kind: 'gone' };
    const observation = this.cgroups.finder.withCgroup(container, (place) => this.observeAt(place, container, look));
    return observation.kind === 'refused' ? { kind: 'unreadable', because: observation.because } : observation;
  }

  private observeAt(
    { path, cpuPath }: CgroupPlace,
    container: Container,
    { known, podQuotas, sampled }: Look,
  ): Observation {
    const { files } = this.cgroups;
    const observation = observeCpuset(files, path);
    if (observation.kind !== 'seen') return observation;

    const kept = known?.kind === 'seen' && known.effective.equals(observation.effective) ? known.threads : undefined;
    const threads = sampled ? this.sample(path, observation.effective) : kept;
    const active = hasAll(container, observation) ? undefined : files.readActive();
    const seen = { ...observation, ...(active && { active }), ...(threads && { threads }) };
    if (container.placement !== 'exclusive' && container.quota === undefined) return seen;

    const pod = podCgroupOf(path, container.podUid);
    if (pod !== undefined && !podQuotas.has(pod)) podQuotas.set(pod, files.readQuota(pod));
    const quota = files.readQuota(cpuPath);
    const podQuota = (pod === undefined ? undefined : podQuotas.get(pod)) ?? NOT_THERE;
    const unread = [...listUnread('container', quota), ...listUnread('pod', podQuota)];
    return {
      ...seen,
      ...(quota.kind === 'found' && { quota: quotaOf(quota) }),
      ...(podQuota.kind === 'found' && { podQuota: quotaOf(podQuota) }),
      ...(unread.length > 0 && { unread }),
    };
  }

  private sample(dir: string, effective: CpuSet): ThreadSample | undefined {
    const reading = this.cgroups.files.listThreads(dir, { maxThreads: SAMPLED_THREADS });
    if (reading.kind !== 'found' || reading.threads.length === 0) return undefined;
    return sampleThreads(
      effective,
      reading.threads.map(({ allowed }) => allowed),
    );
  }
}

const NOT_THERE: QuotaReading = { kind: 'gone' };

function quotaOf({ quotaUs, periodUs }: Quota): Quota {
  return { quotaUs, periodUs };
}

/** A file that is not there means no quota, and so does a controller that is not mounted. */
function listUnread(scope: UnreadQuota['scope'], reading: QuotaReading): UnreadQuota[] {
  return reading.kind === 'error' && reading.errno !== 'ENODEV' ? [{ scope, because: reading.because }] : [];
}

function hasAll({ promise }: Container, { effective }: Seen): boolean {
  return promise === undefined || promise.cpus.isSubsetOf(effective);
}

function observeCpuset(cgroups: Cgroups, dir: string): Observation {
  const reading = cgroups.readCpuset(dir);
  switch (reading.kind) {
    case 'found':
      return { kind: 'seen', cpus: reading.cpus, effective: reading.effectiveCpus, mems: reading.mems };
    case 'gone':
      return { kind: 'gone' };
    default:
      return { kind: 'unreadable', because: reading.because };
  }
}
