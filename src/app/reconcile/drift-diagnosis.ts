import { statSync } from 'node:fs';
import type { Container } from '../../core/model/container';
import type { NodeView } from '../../core/model/node-view';
import { machineOf } from '../../core/topology';
import { explainDrift, KNOWN_MANAGERS, type LikelyCause } from '../../core/verdict/drift-cause';
import type { Seen } from '../../core/verdict/observation';
import { listProcessNames } from '../../host';
import type { ContainerCgroups } from '../cgroups/container-cgroups';

export interface DriftDiagnosisParts {
  readonly model: NodeView;
  readonly cgroups: Pick<ContainerCgroups, 'parentCpus' | 'isUnit'>;
  readonly hasStaticKubelet: () => boolean;
  /** Touched by systemd whenever it has loaded its units. */
  readonly unitsLoadedFile?: string;
  readonly listProcessNames?: () => ReadonlySet<string>;
}

/** The names of running managers are kept this long. */
const MANAGERS_KEPT_MS = 30_000;

/** Gathers evidence and finds the most likely cause of a drift. */
export class DriftDiagnosis {
  private readonly updatedAtMs = new Map<string, number>();
  private managers: { readonly names: readonly string[]; readonly atMs: number } | undefined;

  constructor(private readonly parts: DriftDiagnosisParts) {}

  /** Records that another client updates the container through the runtime. */
  noteUpdate(containerId: string, nowMs: number): void {
    this.updatedAtMs.set(containerId, nowMs);
  }

  /**
   * `nowMs` is of the clock that updates are noted by; `repairs`: how often the promise was repaired shortly before.
   */
  diagnose(
    container: Container,
    { seen, repairs, nowMs }: { seen: Seen; repairs: number; nowMs: number },
  ): LikelyCause {
    const { model, cgroups, hasStaticKubelet } = this.parts;
    const { online } = machineOf(model.topology); // what a cgroup lacks is a narrowed parent
    const { id, promise, runtimeRecord } = container;
    const parent = cgroups.parentCpus(container);
    const updatedAtMs = this.updatedAtMs.get(id);
    const systemd = cgroups.isUnit(container);
    const loadedAtMs = systemd ? this.readUnitsLoaded() : undefined;
    return explainDrift({
      promise: promise!,
      seen,
      online: seen.active ? online.intersect(seen.active) : online,
      ...(parent && { parent }),
      systemd,
      ...(runtimeRecord && { runtimeRecord }),
      ...(loadedAtMs !== undefined && { msSinceReload: Date.now() - loadedAtMs }),
      ...(updatedAtMs !== undefined && { msSinceUpdate: nowMs - updatedAtMs }),
      repairs,
      staticKubelet: hasStaticKubelet(),
      ...(repairs > 0 && { managers: this.findManagers(nowMs) }),
    });
  }

  /** Forgets containers that are gone. */
  keepOnly(containers: ReadonlyMap<string, Container>): void {
    for (const id of this.updatedAtMs.keys()) if (!containers.has(id)) this.updatedAtMs.delete(id);
  }

  /** Undefined where there is no systemd, or not in sight. */
  private readUnitsLoaded(): number | undefined {
    const { unitsLoadedFile = '/run/systemd/systemd-units-load' } = this.parts;
    try {
      return statSync(unitsLoadedFile, { throwIfNoEntry: false })?.mtimeMs;
    } catch {
      return undefined;
    }
  }

  private findManagers(nowMs: number): readonly string[] {
    if (this.managers && nowMs - this.managers.atMs < MANAGERS_KEPT_MS) return this.managers.names;
    const running = (this.parts.listProcessNames ?? listProcessNames)();
    const names = [...KNOWN_MANAGERS].flatMap(([process, name]) => (running.has(process) ? [name] : []));
    this.managers = { names, atMs: nowMs };
    return names;
  }
}
