import type { Logger } from 'pino';
import type { Container } from '../core/model/container';
import type { NodeView } from '../core/model/node-model';
import { hasCgroup } from '../core/plan/plan-moves';
import { cgroupPathOf, type Cgroups, type CpusetWatch } from '../host';

import type { Faults } from './faults';

export interface DriftWatchParts {
  readonly model: NodeView;
  readonly cgroups: Cgroups;
  /** Somebody wrote these containers' cpusets, and it was not what was promised. */
  readonly onDrift: (containerIds: readonly string[]) => void;
  readonly faults: Faults;
  readonly log: Logger;
}

/** Our own writes are told too, all of a pool at once: so many are compared before others have their turn. */
const AT_ONCE = 64;

/**
 * Notices within milliseconds that somebody wrote the cpuset of a running container. What the kernel changes by itself is
 * not told, nor is anything when the kernel has no watch left: the sweep is the net.
 */
export class DriftWatch {
  private readonly watch: CpusetWatch;
  private readonly dirById = new Map<string, string>();
  private readonly idByDir = new Map<string, string>();
  private readonly written = new Set<string>();
  private scheduled = false;
  private closed = false;

  constructor(private readonly parts: DriftWatchParts) {
    this.watch = parts.cgroups.watch({
      onChange: (dir) => {
        const id = this.idByDir.get(dir);
        if (id !== undefined) this.written.add(id);
        this.schedule();
      },
      onDegraded: (because) => parts.log.warn({ because }, 'cpusets are not all watched'),
    });
  }

  /** Watches exactly the containers that run with a promise. Cheap when nothing changed; call it after every change. */
  follow(): void {
    const { allContainers: containers } = this.parts.model;
    if (this.closed) return;
    for (const [id, dir] of this.dirById) {
      const container = containers.get(id);
      if (container?.promise && hasCgroup(container)) continue;
      this.watch.remove(dir);
      this.dirById.delete(id);
      this.idByDir.delete(dir);
    }
    for (const container of containers.values()) {
      if (this.dirById.has(container.id) || !container.promise || !hasCgroup(container)) continue;
      this.parts.faults.contain('watching', () => this.begin(container), container.id);
    }
  }

  private begin({ id, cgroupsPath }: Container): void {
    const at = cgroupPathOf(cgroupsPath);
    if (at.kind === 'refused' || this.watch.add(at.path).kind === 'gone') return;
    this.dirById.set(id, at.path);
    this.idByDir.set(at.path, id);
  }

  close(): void {
    this.closed = true;
    this.watch.close();
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
    const { onDrift, faults } = this.parts;
    const drifted: string[] = [];
    let left = AT_ONCE;
    for (const id of this.written) {
      if (left-- === 0) break;
      this.written.delete(id);
      if (faults.contain('comparing', () => this.hasDrifted(id), id) === true) drifted.push(id);
    }
    if (drifted.length > 0) faults.contain('repairing what was written', () => onDrift(drifted));
    this.schedule();
  }

  private hasDrifted(id: string): boolean {
    const { model, cgroups } = this.parts;
    const dir = this.dirById.get(id);
    const promise = model.allContainers.get(id)?.promise;
    if (dir === undefined || !promise) return false;
    const reading = cgroups.readCpus(dir);
    return reading.kind === 'found' && !reading.cpus.equals(promise.cpus);
  }
}
