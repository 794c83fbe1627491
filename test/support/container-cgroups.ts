import { pino, type Logger } from 'pino';
import { ContainerCgroups } from '../../src/app/cgroups/container-cgroups';
import { ContainerFinder } from '../../src/app/cgroups/container-finder';
import type { NodeView } from '../../src/core/model/node-view';
import { InnerCpusets } from '../../src/host/cgroup/inner-cpusets';
import { cgroupPathOf, type Cgroups, type ContainerToLocate, type Located } from '../../src/host';

/** The cgroups of a model's containers on these files. They are written unless the options say otherwise. */
export function containerCgroups(
  cgroups: Cgroups,
  model: NodeView,
  { canWrite = true, log = pino({ level: 'silent' }) }: { readonly canWrite?: boolean; readonly log?: Logger } = {},
): ContainerCgroups {
  return new ContainerCgroups({ cgroups: withPlaces(cgroups), canWrite, model, log });
}

/**
 * A stand-in that does not know processes finds every container where its name says. One that does not say what the
 * cgroup of all pods has has none.
 */
export function withPlaces(cgroups: Cgroups): Cgroups {
  const more = { locate: locateByName, readCpus: () => ({ kind: 'gone' }), inner: new InnerCpusets() };
  const missing = Object.entries(more).filter(([name]) => !(name in cgroups));
  if (missing.length === 0) return cgroups;
  return Object.assign(Object.create(cgroups), Object.fromEntries(missing)) as Cgroups;
}

function locateByName({ cgroupsPath }: ContainerToLocate): Located {
  const named = cgroupPathOf(cgroupsPath);
  return named.kind === 'refused' ? named : { kind: 'found', path: named.path, cpuPath: named.path };
}

/** Containers on these files, for code that reads them. */
export function readable(cgroups: Cgroups): Pick<ContainerCgroups, 'files' | 'finder'> {
  const files = withPlaces(cgroups);
  return { files, finder: new ContainerFinder({ cgroups: files }) };
}
