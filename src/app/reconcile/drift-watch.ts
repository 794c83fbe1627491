import { hasCgroup, type Container } from '../../core/model/container';
import type { CpusetWatch } from '../../host';
import type { DaemonContext } from '../context';
import type { Reconciler } from './reconciler';

export interface DriftWatchParts {
  readonly context: Pick<DaemonContext, 'model' | 'cgroups' | 'alarms' | 'events' | 'faults'>;
  /** Checks what was written otherwise than promised, and reads back what was written as promised. */
  readonly reconciler: Pick<Reconciler, 'check' | 'willReadBack' | 'noteWritten'>;
}

/**
 * Maximum number of cpusets that are compared, or begun to be watched, in one turn of the event loop: inotify reports
 * our own writes too, and a pool is written all at once.
 */
const AT_ONCE = 64;

interface Missed {
  /** The kernel has no watch left, for any container. */
  readonly isLimit: boolean;
  readonly because: string;
}

const FAULT: Missed = { isLimit: false, because: 'a fault of cpusetd, of which its log says more' };

/**
 * Notices within milliseconds that another process wrote the cpuset of a running container. inotify does not report the
 * kernel's own changes, nor writes of a cpuset that can't be watched: rounds find those. A cpuset that can't be watched
 * is an alarm, and tried again.
 */
export class DriftWatch {
  private readonly watch: CpusetWatch;
  /** Containers that are watched. */
  private readonly dirById = new Map<string, string>();
  private readonly idByDir = new Map<string, string>();
  /** Containers that can't be watched, with the reason. */
  private readonly unwatched = new Map<string, string>();
  /** Containers that are still to be watched, or tried again. */
  private readonly waiting = new Set<string>();
  /** Containers that have no cgroup yet. */
  private readonly absent = new Set<string>();
  private readonly written = new Set<string>();
  /** The last `follow` threw, so the next one checks all containers. */
  private isBehind = false;
  private addingScheduled = false;
  private scheduled = false;
  private closed = false;
  private readonly context: DriftWatchParts['context'];

  constructor(private readonly parts: DriftWatchParts) {
    this.context = parts.context;
    this.watch = parts.context.cgroups.files.watch({
      onChange: (dir) => {
        const id = this.idByDir.get(dir);
        if (id !== undefined) this.written.add(id);
        this.schedule();
      },
      onLost: (dir, because) => {
        const id = this.idByDir.get(dir);
        if (id === undefined) return;
        this.forget(id, dir);
        this.miss(id, `a watch has broken: ${because}`);
        this.updateAlarm();
      },
    });
  }

  /**
   * Watches exactly the containers that run with a promise; call it after every change. `containerIds`: the containers
   * that have changed, the only ones that are checked; undefined = all.
   */
  follow(containerIds?: Iterable<string>): void {
    if (this.closed) return;
    const changed = this.isBehind ? undefined : containerIds;
    this.isBehind = true; // unless all of it is done
    for (const id of changed ?? this.listAll()) this.followOne(id);
    for (const id of this.absent) this.followOne(id);
    this.addSome();
    this.isBehind = false;
  }

  private listAll(): Set<string> {
    return new Set([...this.dirById.keys(), ...this.unwatched.keys(), ...this.context.model.allContainers.keys()]);
  }

  private followOne(id: string): void {
    const dir = this.dirById.get(id);
    if (isWatchable(this.context.model.allContainers.get(id))) {
      if (dir === undefined && !this.unwatched.has(id)) this.waiting.add(id);
      return;
    }
    this.unwatched.delete(id);
    this.absent.delete(id);
    if (dir === undefined) return;
    this.watch.remove(dir);
    this.forget(id, dir);
  }

  /**
   * Tries again to watch the cpusets that could not be watched, or not be found. Called in every round, so that a
   * raised limit helps without a restart.
   */
  tryAgain(): void {
    for (const id of this.unwatched.keys()) this.waiting.add(id);
    for (const id of this.absent) this.followOne(id);
    this.addSome();
  }

  close(): void {
    this.closed = true;
    this.watch.close();
  }

  /**
   * Begins some watches at once and the others in later turns of the event loop; none when the kernel has no watch
   * left.
   */
  private addSome(): void {
    if (this.closed || this.addingScheduled) return;
    let left = AT_ONCE;
    for (const id of this.waiting) {
      if (left-- === 0) break;
      this.waiting.delete(id);
      const { missed } = this.context.faults.contain('watching', () => this.begin(id), id) ?? { missed: FAULT };
      if (!missed) continue;
      this.miss(id, missed.because);
      if (!missed.isLimit) continue;
      for (const other of this.waiting) this.miss(other, missed.because);
      this.waiting.clear();
    }
    this.updateAlarm();
    if (this.waiting.size === 0) return;
    this.addingScheduled = true;
    setImmediate(() => {
      this.addingScheduled = false;
      this.addSome();
    });
  }

  /** A container without a cgroup is no problem: `follow` tries it again. */
  private begin(id: string): { readonly missed?: Missed } {
    const container = this.context.model.allContainers.get(id);
    if (!isWatchable(container)) return {};
    let dir = '';
    const outcome = this.context.cgroups.finder.withCgroup(container, ({ path }) => this.watch.add((dir = path)));
    if (outcome.kind === 'refused') return {};
    if (outcome.kind === 'unwatched') return { missed: outcome };
    const wasUnwatched = this.unwatched.delete(id);
    if (outcome.kind === 'gone') {
      this.absent.add(id);
      return {};
    }
    this.absent.delete(id);
    this.dirById.set(id, dir);
    this.idByDir.set(dir, id);
    if (wasUnwatched) {
      this.written.add(id); // perhaps, while it was not watched
      this.schedule();
    }
    return {};
  }

  private forget(id: string, dir: string): void {
    this.dirById.delete(id);
    this.idByDir.delete(dir);
  }

  private miss(id: string, because: string): void {
    const isNew = !this.unwatched.has(id);
    this.unwatched.set(id, because);
    if (isNew) this.context.events.emit('cpusetUnwatched');
  }

  private updateAlarm(): void {
    const [because] = this.unwatched.values();
    const problem = because && `foreign writes of some cpusets are noticed by rounds only: ${because}`;
    this.context.alarms.update('not-watched', '', problem);
  }

  private schedule(): void {
    if (this.scheduled || this.written.size === 0) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      if (!this.closed) this.compare();
    });
  }

  private compare(): void {
    const { reconciler } = this.parts;
    const { faults } = this.context;
    const drifted: string[] = [];
    const asPromised: string[] = [];
    let left = AT_ONCE;
    for (const id of this.written) {
      if (left-- === 0) break;
      this.written.delete(id);
      if (reconciler.willReadBack(id)) continue;
      const hasDrifted = faults.contain('comparing', () => this.hasDrifted(id), id);
      if (hasDrifted !== undefined) (hasDrifted ? drifted : asPromised).push(id);
    }
    if (drifted.length > 0)
      faults.contain('repairing what was written', () => reconciler.check(drifted, { written: true }));
    if (asPromised.length > 0)
      faults.contain('reading back what was written', () => reconciler.noteWritten(asPromised));
    this.schedule();
  }

  private hasDrifted(id: string): boolean {
    const { model, cgroups } = this.context;
    const dir = this.dirById.get(id);
    const promise = model.allContainers.get(id)?.promise;
    if (dir === undefined || !promise) return false;
    const reading = cgroups.files.readCpus(dir);
    return reading.kind === 'found' && !reading.cpus.equals(promise.cpus);
  }
}

function isWatchable(container: Container | undefined): container is Container {
  return container?.promise !== undefined && hasCgroup(container);
}
