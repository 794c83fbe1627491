import type { Logger } from 'pino';
import { FILE_NAME } from '../../core/identity/where';
import type { Container } from '../../core/model/container';
import type { ContainerDirectories } from '../../host';
import { messageOf } from '../alarms/faults';

/** Maximum number of directories that one round looks at, for what containers have put there or left. */
const MAX_LOOKED_AT = 50;
/** Maximum number of directories that are kept in mind as not removed. */
const MAX_LEAVING = 1_000;

/**
 * Removes directories whose container is gone, and what containers have put in theirs. What can't be removed is tried
 * again.
 */
export class DirectoryCleaner {
  /** Directories that could not be removed yet. */
  private readonly leaving = new Set<string>();
  /** The reasons for which something stays in a directory that a container has written to. */
  private readonly untidy = new Map<string, string>();
  /** Number of rounds: each looks at some of the directories. */
  private rounds = 0;

  constructor(
    private readonly directories: ContainerDirectories,
    private readonly log: Logger,
  ) {}

  /** Removes the directory, now or in a later round. */
  remove(name: string): void {
    this.untidy.delete(name);
    try {
      this.directories.remove(name, FILE_NAME);
      this.leaving.delete(name);
    } catch (error) {
      if (this.leaving.delete(name)) {
        this.leaving.add(name); // at the end: the next round tries others first
        return;
      }
      this.log.warn({ because: messageOf(error) }, 'the directory of a CPU identity cannot be removed; trying again');
      if (this.leaving.size < MAX_LEAVING) this.leaving.add(name);
    }
  }

  /** Tries again to remove directories, but for those that a container has again. */
  retry(isHeld: (name: string) => boolean): void {
    for (const name of [...this.leaving].slice(0, MAX_LOOKED_AT))
      if (isHeld(name)) this.leaving.delete(name);
      else this.remove(name);
  }

  /**
   * Removes what containers have put in their directories, or in the place of their files; of many, some in each round.
   * `restore` writes a file again where something that is not ours is in its place, and returns true then.
   */
  tidy(
    live: readonly (readonly [name: string, container: Container])[],
    restore: (name: string, container: Container) => boolean,
  ): void {
    const { directories, log } = this;
    const turns = Math.ceil(live.length / MAX_LOOKED_AT);
    const first = (this.rounds++ % Math.max(1, turns)) * MAX_LOOKED_AT;
    for (const [name, container] of live.slice(first, first + MAX_LOOKED_AT)) {
      let stays: string | undefined;
      try {
        const isRestored = restore(name, container);
        const tidied = directories.tidy(name, FILE_NAME);
        stays = tidied?.stays;
        if ((tidied || isRestored) && stays === undefined)
          log.warn(
            { directory: directories.pathOf(name) },
            'a container has written to the directory of its CPU identity',
          );
      } catch (error) {
        stays = messageOf(error);
      }
      this.noteUntidy(name, stays);
    }
  }

  /** Logs once, and not in each round, what stays in a directory. */
  private noteUntidy(name: string, because: string | undefined): void {
    if (because === undefined) this.untidy.delete(name);
    else if (this.untidy.get(name) !== because) {
      this.untidy.set(name, because);
      this.log.warn(
        { directory: this.directories.pathOf(name), because },
        'what a container has put in the directory of its CPU identity cannot be removed; trying again',
      );
    }
  }
}
