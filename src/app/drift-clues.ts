import { posix } from 'node:path';
import type { CpuSet } from '../core/cpuset';
import type { Container } from '../core/model/container';
import type { NodeView } from '../core/model/node-model';
import { explainDrift, type LikelyCause } from '../core/verdict/drift-cause';
import type { Seen } from '../core/verdict/observation';
import { cgroupPathOf, type Cgroups } from '../host';

export interface DriftClueParts {
  readonly model: NodeView;
  readonly cgroups: Cgroups;
  readonly hasStaticKubelet: () => boolean;
}

/** Gathers what speaks for one cause of a drift or another. */
export class DriftClues {
  private readonly updatedAtMs = new Map<string, number>();

  constructor(private readonly parts: DriftClueParts) {}

  /** Somebody else's update of the container goes through the runtime. */
  noteUpdate(containerId: string, nowMs: number): void {
    this.updatedAtMs.set(containerId, nowMs);
  }

  explain(
    { id, promise, recorded, cgroupsPath }: Container,
    { seen, together, repairs, nowMs }: { seen: Seen; together: number; repairs: number; nowMs: number },
  ): LikelyCause {
    const { model, hasStaticKubelet } = this.parts;
    const parent = this.readParent(cgroupsPath);
    const updatedAtMs = this.updatedAtMs.get(id);
    return explainDrift({
      promise: promise!,
      seen,
      online: model.topology.online,
      ...(parent && { parent }),
      systemd: !cgroupsPath.startsWith('/'),
      ...(recorded && { recorded }),
      ...(updatedAtMs !== undefined && { msSinceUpdate: nowMs - updatedAtMs }),
      together,
      repairs,
      staticKubelet: hasStaticKubelet(),
    });
  }

  /** Forgets containers that are gone. */
  keepOnly(containers: ReadonlyMap<string, Container>): void {
    for (const id of this.updatedAtMs.keys()) if (!containers.has(id)) this.updatedAtMs.delete(id);
  }

  private readParent(cgroupsPath: string): CpuSet | undefined {
    const at = cgroupPathOf(cgroupsPath);
    if (at.kind === 'refused') return undefined;
    const reading = this.parts.cgroups.readCpus(posix.dirname(at.path));
    return reading.kind === 'found' ? reading.effectiveCpus : undefined;
  }
}
