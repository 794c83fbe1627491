import type { Logger } from 'pino';
import { PostCommit } from '../../src/app/transaction/post-commit';
import type { Reconciler } from '../../src/app/reconcile/reconciler';
import { ShownModel } from '../../src/app/status/show-status';
import type { Transactor } from '../../src/app/transaction/transactor';
import type { Transaction } from '../../src/app/transaction/transaction';
import { VerdictStore } from '../../src/app/status/verdict-store';
import { CpuSet } from '../../src/core/cpuset';
import type { NodeModel } from '../../src/core/model/node-model';
import { isOutdated } from '../../src/core/verdict/judgement';
import { cgroupPathOf, type Cgroups } from '../../src/host';
import { findContradictions } from '../support/contradictions';
import { contextOf, reconcilerOf } from '../support/daemon-context';

/** The parts of a daemon that observe its transactor: reconciler, verdicts and status. The kernel is a map. */
export class Observers {
  private readonly stop = new AbortController();
  private readonly verdicts = new VerdictStore();
  private readonly reconciler: Reconciler;
  private readonly postCommit: PostCommit;
  private readonly shown: ShownModel;
  /** Events that were reported and are not true. */
  private readonly untrue: string[] = [];

  constructor(
    private readonly parts: {
      readonly model: NodeModel;
      readonly transactor: Transactor;
      readonly kernel: ReadonlyMap<string, CpuSet>;
      readonly now: () => string;
      readonly log: Logger;
    },
  ) {
    const { model, transactor, kernel, now, log } = parts;
    const { verdicts } = this;
    const { signal } = this.stop;
    const context = contextOf({ model, cgroups: cgroupsOf(model, kernel), log, now, signal });
    const { events, faults } = context;
    events.on('repaired', 'comparing a repair', ({ outcome, containerId }) => {
      if (outcome === 'ok') this.compareRepaired(containerId);
    });
    this.reconciler = reconcilerOf(context, { transactor, verdicts });
    this.postCommit = new PostCommit({
      events,
      widenPod: () => undefined,
      watch: () => undefined,
      check: (ids) => this.reconciler.check(ids),
      // Containers that may be read later are read at once: the delay is not simulated here.
      readBack: (ids, { always }) => this.reconciler.readBack(ids, { always }),
      faults,
      signal,
    });
    this.shown = new ShownModel({ model, verdicts, now });
  }

  begin(done: Transaction): void {
    this.postCommit.begin(done);
  }

  /** Checks all containers, as a round of the reconciler does. */
  sweep(): void {
    this.reconciler.check([...this.parts.model.allContainers.keys()]);
  }

  end(): void {
    this.stop.abort();
  }

  /** Finds contradictions between status, events and kernel. `isSettled`: all work after the last answer is done. */
  findBroken({ isSettled = false } = {}): string[] {
    const { model, kernel } = this.parts;
    const rows = this.shown.containers();
    const promised = (id: string): string => model.allContainers.get(id)?.promise?.cpus.toString() ?? 'nothing';
    const wrong = rows.filter(({ id, promise }) => (promise?.cpus.toString() ?? 'nothing') !== promised(id));
    const running = [...model.allContainers.values()].filter(({ id }) => isSettled && kernel.has(id));
    const unread = running.filter((container) => isOutdated(model, container, this.verdicts.get(container.id)));
    return [
      ...findContradictions(rows),
      ...wrong.map(({ id }) => `${id} is promised ${promised(id)}, and shown with something else`),
      ...unread.map(({ id }) => `${id} was not read back`),
      ...this.untrue.splice(0),
    ].map((problem) => `shown: ${problem}`);
  }

  private compareRepaired(id: string): void {
    const promised = this.parts.model.allContainers.get(id)?.promise?.cpus.toString();
    const cpus = this.parts.kernel.get(id)?.toString();
    if (cpus !== promised) this.untrue.push(`${id} was repaired to ${promised}, and is on ${cpus}`);
  }
}

function cgroupsOf(model: NodeModel, kernel: ReadonlyMap<string, CpuSet>): Cgroups {
  const idByDir = new Map<string, string>();
  const find = (dir: string): string | undefined => {
    if (!idByDir.has(dir))
      for (const { id, cgroupsPath } of model.allContainers.values()) {
        const at = cgroupPathOf(cgroupsPath);
        if (at.kind === 'path') idByDir.set(at.path, id);
      }
    return idByDir.get(dir);
  };
  return {
    readCpuset: (dir: string) => {
      const cpus = kernel.get(find(dir) ?? '');
      if (!cpus) return { kind: 'gone' };
      const online = cpus.intersect(model.topology.online);
      return {
        kind: 'found',
        cpus,
        effectiveCpus: online.isEmpty ? model.topology.online : online,
        mems: CpuSet.empty,
      };
    },
    readActive: () => undefined,
    readCpus: () => ({ kind: 'gone' }),
    readQuota: () => ({ kind: 'gone' }),
    listThreads: () => ({ kind: 'gone' }),
  } as unknown as Cgroups;
}
