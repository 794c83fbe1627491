import type { Config } from '../config';
import type { Task, TaskGroup } from './task-group';

/**
 * A part of the daemon that operators need, and no container. It is opened after the first contact with the runtime:
 * loading its code takes longer than registering.
 */
export interface Part<Needs> {
  readonly name: string;
  /** True when the options, or what a killed process left to undo, ask for it. Its code is not loaded otherwise. */
  readonly isWanted: (config: Config) => boolean;
  /** Loads its code and opens it. A task runs until the daemon ends. */
  readonly open: (needs: Needs) => Promise<Task | undefined> | undefined;
}

/** Opens the parts that are wanted, in their order. Rejects with the error of the first that can't be opened. */
export async function openParts<Needs extends { readonly context: { readonly config: Config } }>(
  parts: readonly Part<Needs>[],
  needs: Needs,
  tasks: Pick<TaskGroup, 'start'>,
): Promise<void> {
  for (const part of parts) {
    if (!part.isWanted(needs.context.config)) continue;
    const task = await part.open(needs);
    if (task) tasks.start(task);
  }
}
