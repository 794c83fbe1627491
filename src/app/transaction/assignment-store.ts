import type { Logger } from 'pino';
import { CpusetdError } from '../../core/errors';
import type { Assignment } from '../../core/model/assignment';
import type { Brought } from '../../core/model/brought';
import type { NodeModel } from '../../core/model/node-model';
import type { PodLevel } from '../../core/model/pod-level';
import type { PodSpec } from '../../core/model/pod-spec';
import { MAX_PODS_BYTES, openStateStore } from '../../state';
import type { SaveProblem } from './transaction';

export interface AssignmentStoreOptions {
  readonly stateDir: string;
  readonly version: string;
  readonly model: NodeModel;
  readonly log: Logger;
}

/** All that a restart must not forget. */
export interface ToRemember {
  readonly assignments: Iterable<Assignment>;
  readonly pods: Iterable<PodSpec>;
  readonly brought: Iterable<Brought>;
  readonly podLevel: Iterable<PodLevel>;
}

/** The assignments on disk: those of the process before, and every one from now on. */
export interface AssignmentStore {
  /** Goes up by one with every durable change. */
  readonly generation: number;
  /** Returns when all of it is durable, or with the reason why they are not. */
  readonly save: (remembered: ToRemember) => SaveProblem | undefined;
  /** True when nothing is known that would make a save fail. */
  readonly isWritable: boolean;
}

/**
 * Opens the state and puts what it remembers into the model. A file that can't be used is set aside and said so: what
 * runs is rebuilt from the runtime. Throws only where a start would destroy something: a file of a newer version.
 */
export function openAssignmentStore({ stateDir, version, model, log }: AssignmentStoreOptions): AssignmentStore {
  const opened = openStateStore({ dir: stateDir, version });
  if (!opened.ok) throw new CpusetdError('FAILED_PRECONDITION', opened.because);
  const { store } = opened;
  const { loaded } = store;
  for (const warning of store.warnings) log.warn({ because: warning }, 'state directory');

  let generation = 0;
  let remembered: readonly Assignment[] = [];
  let pods: readonly PodSpec[] = [];
  let brought: readonly Brought[] = [];
  let podLevel: readonly PodLevel[] = [];
  switch (loaded.kind) {
    case 'none':
      log.info({ path: store.path }, 'no state yet');
      break;
    case 'loaded':
    case 'migrated':
      ({ generation, assignments: remembered, pods, brought, podLevel } = loaded.state);
      log.info({ path: store.path, generation, assignments: remembered.length }, 'state restored');
      break;
    case 'quarantined':
      if ('salvaged' in loaded.problem) ({ assignments: remembered, brought, podLevel } = loaded.problem.salvaged);
      log.warn(
        { path: store.path, problem: loaded.problem.kind, movedTo: loaded.movedTo, salvaged: remembered.length },
        'state could not be used; it is rebuilt from the runtime',
      );
  }
  for (const assignment of remembered) model.apply({ kind: 'put-assignment', assignment });
  for (const each of brought) model.apply({ kind: 'put-brought', brought: each });
  for (const each of podLevel) model.apply({ kind: 'put-pod-level', podLevel: each });
  // The last specs of the API server hold until it sends others.
  for (const kind of ['put-spec', 'keep-spec'] as const) for (const spec of pods) model.apply({ kind, spec });

  /** The names of pods whose specs are too large to be saved. Each is logged once, until it fits again. */
  let tooLarge: ReadonlySet<string> = new Set();
  const reportLeftOut = (leftOut: readonly PodSpec[]): void => {
    const names = leftOut.map(({ namespace, name }) => `${namespace}/${name}`);
    for (const pod of names)
      if (!tooLarge.has(pod))
        log.warn(
          {
            pod,
            because: `the pods of the API server take more than ${MAX_PODS_BYTES} bytes, and most of this one`,
          },
          'pod not remembered over a restart',
        );
    tooLarge = new Set(names);
  };

  return {
    get generation() {
      return generation;
    },
    isWritable: store.isWritable,
    save(remembered) {
      const outcome = store.save({ generation: generation + 1, ...remembered });
      if (!outcome.ok) return outcome;
      generation++;
      if (outcome.leftOut.length > 0 || tooLarge.size > 0) reportLeftOut(outcome.leftOut);
      return undefined;
    },
  };
}
