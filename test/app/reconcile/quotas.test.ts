import { pino } from 'pino';
import type { Reconciler } from '../../../src/app/reconcile/reconciler';
import { Transactor } from '../../../src/app/transaction/transactor';
import { VerdictStore } from '../../../src/app/status/verdict-store';
import { CpuSet } from '../../../src/core/cpuset';
import type { Cgroups } from '../../../src/host';
import { NodeDriver } from '../../core/transition/node-driver';
import { contextOf, reconcilerOf } from '../../support/daemon-context';
import { specOf } from '../../support/spec-of';

const POD = '/kubepods/podp';
const OWN = `${POD}/a1`;

/** A pod with one pinned container and lifted quotas, on a kernel whose quota files can fail. */
class Stage {
  readonly quotas = new Map([
    [POD, -1],
    [OWN, -1],
  ]);
  readonly cpusets = new Map<string, CpuSet>();
  /** Cgroups whose quota can't be written, or can't be read. */
  readonly refusing = new Set<string>();
  readonly unreadable = new Set<string>();
  readonly logged: string[] = [];
  readonly verdicts = new VerdictStore();
  readonly node = new NodeDriver(undefined, { liftCpuQuota: true, podPolicies: ['none', 'static'] });
  readonly transactor: Transactor;
  readonly reconciler: Reconciler;

  constructor() {
    this.node.podFields.set('p', { podResources: { quotaUs: 300_000, periodUs: 100_000 } });
    this.node.run('pod p; make p/a 2');
    const { model } = this.node;
    const log = pino(
      { level: 'info' },
      { write: (line) => this.logged.push((JSON.parse(line) as { msg: string }).msg) },
    );
    const now = () => '2026-01-01T00:00:00Z';
    const context = contextOf({ model, cgroups: this.open(), log, now });
    this.transactor = new Transactor({ model, log, now, save: () => undefined, mover: context.cgroups });
    this.cpusets.set(OWN, model.containers.get('p/a#1')!.promise!.cpus);
    this.reconciler = reconcilerOf(context, {
      transactor: this.transactor,
      verdicts: this.verdicts,
    });
  }

  /** The pod now chooses to share, so its quotas must be set again. */
  letShare(): void {
    const spec = specOf('p', 'a 2', { annotations: { 'cpusetd.io/policy': 'none' } });
    this.transactor.handle({ kind: 'pod-spec', spec });
  }

  get verdict() {
    return this.verdicts.get('p/a#1')?.verdict;
  }

  private open(): Cgroups {
    return {
      version: 2,
      readCpuset: (dir: string) => {
        const cpus = this.cpusets.get(dir) ?? CpuSet.empty;
        return { kind: 'found', cpus, effectiveCpus: cpus, mems: CpuSet.empty };
      },
      writeCpuset: (dir: string, { cpus }: { cpus: CpuSet }) => {
        this.cpusets.set(dir, cpus);
        return { kind: 'ok', changed: true };
      },
      readActive: () => undefined,
      readCpus: () => ({ kind: 'gone' }),
      listThreads: () => ({ kind: 'gone' }),
      readQuota: (dir: string) =>
        this.unreadable.has(dir)
          ? { kind: 'error', errno: 'EIO', because: 'EIO: no' }
          : { kind: 'found', quotaUs: this.quotas.get(dir)!, periodUs: 100_000 },
      writeQuota: (dir: string, { quotaUs }: { quotaUs: number }) => {
        if (this.refusing.has(dir)) return { kind: 'refused', errno: 'EINVAL', because: `${dir}: EINVAL` };
        const changed = this.quotas.get(dir) !== quotaUs;
        this.quotas.set(dir, quotaUs);
        return { kind: 'ok', changed };
      },
    } as unknown as Cgroups;
  }
}

let stage: Stage;
beforeEach(() => (stage = new Stage()));

const quotas = () => [stage.quotas.get(OWN), stage.quotas.get(POD)];
const countLogged = (msg: string) => stage.logged.filter((each) => each === msg).length;

test('a container that switches to shared has its quotas again at once; the next round writes nothing', async () => {
  stage.letShare();
  expect(quotas()).toEqual([200_000, 300_000]);
  await stage.reconciler.round();
  expect(stage.verdict).toMatchObject({ kind: 'kept', because: expect.not.stringMatching(/quota/) });
  expect(countLogged('quota set again')).toBe(0);
});

test.each`
  of                 | dir    | kind          | because
  ${'the pod'}       | ${POD} | ${'kept'}     | ${/; the CFS quota of its pod is none, and 3 CPUs .* was to be set again$/}
  ${'the container'} | ${OWN} | ${'violated'} | ${/^its CFS quota is none, and 2 CPUs .* was to be set again$/}
`(
  'a quota of $of that the kernel refuses is tried in each round, logged once, and set when the kernel accepts it',
  async ({ dir, kind, because }: { dir: string; kind: string; because: RegExp }) => {
    stage.refusing.add(dir);
    stage.letShare();
    for (let i = 0; i < 5; i++) await stage.reconciler.round();
    expect(stage.quotas.get(dir)).toBe(-1);
    expect(stage.verdict).toMatchObject({ kind, because: expect.stringMatching(because) });
    expect(countLogged('quota not written')).toBe(1);
    stage.refusing.clear();
    await stage.reconciler.round();
    expect(quotas()).toEqual([200_000, 300_000]);
    expect(stage.verdict).toMatchObject({ kind: 'kept', because: expect.not.stringMatching(/quota/) });
    expect(countLogged('quota set again')).toBe(1);
  },
);

test('a quota of a shared container that another process removes is set again', async () => {
  stage.letShare();
  stage.quotas.set(OWN, -1).set(POD, -1);
  await stage.reconciler.round();
  expect(quotas()).toEqual([200_000, 300_000]);
});

test.each([POD, OWN])('a quota of %s that can’t be lifted is tried in each round and logged once', async (dir) => {
  stage.quotas.set(dir, 100_000);
  stage.refusing.add(dir);
  for (let i = 0; i < 5; i++) await stage.reconciler.round();
  expect(countLogged('quota not written')).toBe(1);
  stage.refusing.clear();
  await stage.reconciler.round();
  expect(quotas()).toEqual([-1, -1]);
});

test.each([POD, OWN])('an unreadable quota of %s: the verdict is unknown, and nothing is written until it is readable', async (dir) => {
  await stage.reconciler.round();
  expect(stage.verdict?.kind).toBe('kept');
  stage.unreadable.add(dir);
  stage.quotas.set(dir, 100_000);
  await stage.reconciler.round();
  expect(stage.verdict).toMatchObject({ kind: 'unknown', because: expect.stringMatching(/could not be read: EIO/) });
  expect(stage.quotas.get(dir)).toBe(100_000);
  stage.unreadable.clear();
  await stage.reconciler.round();
  expect([stage.verdict?.kind, ...quotas()]).toEqual(['kept', -1, -1]);
}); // prettier-ignore
