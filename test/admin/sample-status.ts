import type {
  AdminBackend,
  ContainerStatus,
  ExplainQuery,
  Explanation,
  Status,
  StatusChange,
} from '../../src/admin/status';
import { parseCpuList } from '../../src/core/cpuset';
import { CpusetdError } from '../../src/core/errors';

const at = '2026-11-21T10:00:00.000Z';
const rules = { policy: 'static', options: ['full-pcpus-only'], reserved: parseCpuList('0') };

/** Uses every field, every optional one both ways. */
export const sampleStatus: Status = {
  node: {
    policy: 'static',
    policyOptions: ['full-pcpus-only', 'strict-cpu-reservation'],
    online: parseCpuList('0-7'),
    reserved: parseCpuList('0'),
    allocatable: parseCpuList('1-7'),
    sharedPool: parseCpuList('0-1,6-7'),
    free: parseCpuList('1,6-7'),
    isolated: parseCpuList('7'),
    mode: 'nri',
    runtimeName: 'containerd',
    runtimeVersion: 'v2.1.9',
    nri: { state: 'ready', since: at, reason: '' },
    cri: { state: 'connecting', since: at, reason: 'connection refused' },
    generation: 12,
    startedAt: at,
    version: '0.1.0',
    gap: { from: at, to: '2026-11-21T10:00:02.500Z', containers: 2, names: ['default/web/app'] },
    alarms: [{ kind: 'repairs-stopped', subject: 'a'.repeat(64), because: 'someone changes it again', since: at }],
  },
  containers: [
    container({ id: 'b'.repeat(64), pod: 'web', container: 'sidecar', placement: 'shared', requested: 0 }),
    {
      ...container({ id: 'a'.repeat(64), pod: 'web', container: 'app', placement: 'exclusive', requested: 2 }),
      promise: { cpus: parseCpuList('2-3'), mems: parseCpuList('0'), quotaUs: -1 },
      observation: {
        cpus: parseCpuList('2-3'),
        effectiveCpus: parseCpuList('2'),
        mems: parseCpuList('0'),
        quotaUs: -1,
        podQuotaUs: 200_000,
        threads: { looked: 5, narrower: 1, narrowerCpus: parseCpuList('2'), outside: parseCpuList('') },
        at,
      },
      verdict: { kind: 'violated', reason: 'CPU 3 is offline', since: at },
      rules,
    },
    {
      ...container({ id: 'c', pod: 'old', container: 'x', placement: 'left-alone', requested: 0 }),
      because: 'policy none',
    },
  ],
  idle: [
    {
      podUid: 'uid-job',
      namespace: 'default',
      pod: 'job',
      container: 'init',
      cpus: parseCpuList('4-5'),
      mems: parseCpuList(''),
      requested: 2,
      because: 'two free cores of socket 0',
      since: at,
      rules: { ...rules, options: [] },
    },
  ],
};

export function container(
  of: Pick<ContainerStatus, 'id' | 'pod' | 'container' | 'placement' | 'requested'>,
): ContainerStatus {
  return {
    ...of,
    podUid: `uid-${of.pod}`,
    namespace: 'default',
    ...(of.placement !== 'left-alone' && { promise: { cpus: parseCpuList('0-1,6-7'), mems: parseCpuList('') } }),
    verdict: { kind: of.placement === 'shared' ? 'kept' : 'unknown', reason: '', since: at },
    because: 'not a whole number of CPUs',
    since: at,
  };
}

/** A backend whose status is what the test says, and that counts its watchers. */
export class SampleBackend implements AdminBackend {
  current = sampleStatus;
  private readonly listeners = new Set<(change: StatusChange) => void>();

  get watchers(): number {
    return this.listeners.size;
  }

  status(): Status {
    return this.current;
  }

  watch(listener: (change: StatusChange) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  tell(change: StatusChange): void {
    for (const listener of this.listeners) listener(change);
  }

  explain(query: ExplainQuery): Explanation {
    const steps = [{ rule: 'whole-core', took: parseCpuList('2-3'), because: 'the first free core' }];
    if (query.kind === 'cpus') {
      if (query.count === 13) throw new Error('secret of the inside');
      return { kind: 'what-if', fits: true, cpus: parseCpuList('6-7'), because: 'there is room', steps };
    }
    const found = this.current.containers.filter(({ pod }) => pod === query.pod);
    if (found.length === 0) throw new CpusetdError('NOT_FOUND', `no pod ${query.pod}`);
    return { kind: 'containers', containers: found.map((of) => ({ container: of, steps })) };
  }
}
