import { pino, type Logger } from 'pino';
import { ContainerCgroups } from '../../src/app/cgroups/container-cgroups';
import type { NodeView } from '../../src/core/model/node-view';
import type { Cgroups } from '../../src/host';

/** The cgroups of a model's containers on these files. They are written unless the options say otherwise. */
export function containerCgroups(
  cgroups: Cgroups,
  model: NodeView,
  { canWrite = true, log = pino({ level: 'silent' }) }: { readonly canWrite?: boolean; readonly log?: Logger } = {},
): ContainerCgroups {
  return new ContainerCgroups({ cgroups, canWrite, model, log });
}
