import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { nodeFsOps, type FsOps } from '../../files/fs-ops';
import {
  irqAffinitiesFormat,
  listSetAside,
  publishedOnNodeFormat,
  takenCpusFormat,
  type NoteFormat,
} from '../../state';
import { qosActionsFormat } from './qos-actions';

/** A kind of effects outside of this process that have to be undone. */
export interface Owed<T> {
  /** The note, in the state directory. */
  readonly file: string;
  readonly format: NoteFormat<T>;
  /** For the alarm about a note that is lost: what is done without it. */
  readonly without: string;
}

const kind = <T>(owed: Owed<T>): Owed<T> => owed;

/** Everything outside that cpusetd has to undo, and its notes. */
export const OWED = {
  interrupts: kind({
    file: 'irq-affinities.json',
    format: irqAffinitiesFormat,
    without: 'interrupts got back what the kernel gives to new ones, where it was clear that cpusetd had moved them',
  }),
  qosActions: kind({
    file: 'qos-actions.json',
    format: qosActionsFormat,
    without: 'quotas go back to what the specs of the pods say, and no QoS action is taken',
  }),
  lentResources: kind({
    file: 'node-resources.json',
    format: publishedOnNodeFormat,
    without: 'resources on the Node count as published by cpusetd',
  }),
  takenCpus: kind({
    file: 'taken-cpus.json',
    format: takenCpusFormat,
    without: 'cgroups keep the CPUs that they have',
  }),
} as const;

/** True when an earlier process left something to undo, or nobody knows now. */
export function isOwed(stateDir: string, { file }: Pick<Owed<unknown>, 'file'>, fs: FsOps = nodeFsOps): boolean {
  const path = join(stateDir, file);
  if (existsSync(path)) return true;
  const setAside = listSetAside(fs, path);
  return 'because' in setAside || setAside.paths.length > 0;
}
