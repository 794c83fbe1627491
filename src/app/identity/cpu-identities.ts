import type { Logger } from 'pino';
import { identityOf, isInForce, saysTheSame } from '../../core/identity/cpu-identity';
import { formatIdentity, parseIdentity } from '../../core/identity/document';
import { directoryNameOf, FILE_NAME, isDirectoryName } from '../../core/identity/where';
import { assignmentOf, type Assignment } from '../../core/model/assignment';
import type { Container } from '../../core/model/container';
import type { CpuIdentity, IdentityMount } from '../../core/model/cpu-identity';
import { namesIn } from '../../core/model/names-of';
import type { NodeView } from '../../core/model/node-view';
import type { ContainerDirectories } from '../../host';
import type { Alarms } from '../alarms/alarms';
import { messageOf, type Faults } from '../alarms/faults';
import type { IdentityWriter } from '../transaction/carry-out';

export interface CpuIdentitiesParts {
  readonly directories: ContainerDirectories;
  readonly model: NodeView;
  readonly alarms: Alarms;
  readonly faults: Faults;
  readonly log: Logger;
  /** Aborted when the daemon has to end. */
  readonly signal: AbortSignal;
}

/** A directory and the last facts that were written there. */
interface Held {
  /** Absent until it is known what the file says. */
  readonly written?: CpuIdentity;
  /** The sources of the facts: while they are the same objects, so are the facts. */
  readonly sources?: Sources;
  /** The last round found no container of it. */
  readonly isIdle?: true;
}

interface Sources {
  readonly promise: Container['promise'];
  readonly assignment: Assignment | undefined;
  readonly topology: NodeView['topology'];
}

/** Files are replaced for so long at once, and the next ones after a break, so that a creation waits for none of them. */
const SLICE_MS = 0.5;
const BREAK_MS = 5;
/** Directories that one round looks at, for what containers have put there or left. */
const MAX_LOOKED_AT = 50;
/** Directories that are remembered as not removed. */
const MAX_LEAVING = 1_000;
/** No directory has this name: what holds for all of them. */
const ROOT = '';

/**
 * The files that tell containers their CPUs. Before a creation its file is written at once. All else comes after the answers: a change reaches
 * the file when it has reached the kernel, and only the last of several is written.
 */
export class CpuIdentities implements IdentityWriter {
  private readonly held = new Map<string, Held>();
  /** By container id. */
  private names = new Map<string, string | undefined>();
  /** The reasons for which files can't be written, by directory; `ROOT` for all of them. */
  private readonly failures = new Map<string, string>();
  /** The directories that were tried in the changes that are under way. */
  private tried = new Set<string>();
  /** Directories that could not be removed yet. */
  private readonly leaving = new Set<string>();
  /** The reasons for which something stays in a directory that a container has written to. */
  private readonly untidy = new Map<string, string>();
  /** Number of rounds: each looks at some of the directories. */
  private rounds = 0;
  private isOpen = false;
  private isBusy = false;
  private changes = 0;

  constructor(private readonly parts: CpuIdentitiesParts) {
    try {
      for (const name of parts.directories.list()) if (isDirectoryName(name)) this.held.set(name, {});
    } catch (error) {
      this.fail(ROOT, error);
    }
  }

  /** Changes with `has`. */
  get revision(): number {
    return this.changes;
  }

  /** True when the container has a file. */
  has(container: Pick<Container, 'sandboxId' | 'name'>): boolean {
    if (this.held.size === 0) return false;
    const name = directoryNameOf(container);
    return name !== undefined && this.held.has(name);
  }

  /** Makes sure that files can be written, or raises the alarm. */
  open(): void {
    try {
      this.openDirectories();
      this.succeed(ROOT);
    } catch (error) {
      this.fail(ROOT, error);
    }
  }

  prepare(
    container: Pick<Container, 'sandboxId' | 'name'>,
    identity: CpuIdentity | undefined,
  ): IdentityMount | undefined {
    if (!identity && this.held.size === 0) return undefined;
    const name = directoryNameOf(container);
    if (name === undefined) return undefined;
    if (!identity) {
      // An earlier container of this name had a file, and this one has none.
      if (this.held.has(name)) this.drop(name);
      return undefined;
    }
    const { directories } = this.parts;
    try {
      this.openDirectories();
      directories.make(name);
      directories.replace(name, FILE_NAME, formatIdentity(identity));
    } catch (error) {
      this.isOpen = false;
      this.fail(ROOT, error);
      this.drop(name);
      return undefined;
    }
    this.hold(name, { written: identity });
    this.succeed(ROOT, name);
    return { hostDirectory: directories.pathOf(name), ...(identity.cpus && { cpus: identity.cpus }) };
  }

  /** Brings the files to what holds now, in small parts. Returns at once. */
  readonly follow = (): void => {
    if (this.held.size === 0 || this.isBusy) return;
    this.isBusy = true;
    this.tried = new Set();
    this.continue();
  };

  /** A round: all files are brought to what holds, and directories are removed that have had no container since the last round. */
  round(): void {
    if (!this.isOpen && this.parts.model.settings.cpuIdentity) this.open();
    this.names = new Map();
    this.follow();
    for (const name of [...this.leaving].slice(0, MAX_LOOKED_AT)) this.remove(name);
    if (!this.parts.model.synchronized || this.held.size === 0) return;
    const live = this.findLive();
    for (const [name, { isIdle, ...held }] of this.held) {
      if (live.has(name)) {
        if (isIdle) this.held.set(name, held);
      } else if (isIdle) this.drop(name);
      else this.held.set(name, { ...held, isIdle: true });
    }
    this.tidy([...live]);
  }

  /** Removes what containers have put in their directories, or in the place of their files; of many, some in each round. */
  private tidy(live: readonly (readonly [name: string, container: Container])[]): void {
    const { directories, log } = this.parts;
    const turns = Math.ceil(live.length / MAX_LOOKED_AT);
    const first = (this.rounds++ % Math.max(1, turns)) * MAX_LOOKED_AT;
    for (const [name, container] of live.slice(first, first + MAX_LOOKED_AT)) {
      let stays: string | undefined;
      try {
        const isRestored = this.restore(name, container);
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
      this.showUntidy(name, stays);
    }
  }

  /** Writes the file again where something that is not ours is in its place. */
  private restore(name: string, container: Container): boolean {
    const { directories, model } = this.parts;
    if (directories.hasFile(name, FILE_NAME)) return false;
    const identity = this.held.get(name)?.written ?? (isInForce(container) ? identityOf(model, container) : undefined);
    if (!identity || !directories.exists(name)) return false;
    directories.replace(name, FILE_NAME, formatIdentity(identity));
    return true;
  }

  /** Says once, and not in each round, what stays in a directory. */
  private showUntidy(name: string, because: string | undefined): void {
    if (because === undefined) this.untidy.delete(name);
    else if (this.untidy.get(name) !== because) {
      this.untidy.set(name, because);
      this.parts.log.warn(
        { directory: this.parts.directories.pathOf(name), because },
        'what a container has put in the directory of its CPU identity cannot be removed; trying again',
      );
    }
  }

  private openDirectories(): void {
    if (this.isOpen) return;
    this.parts.directories.open();
    this.isOpen = true;
  }

  /** Whatever else happens, a fault here leaves the rest of cpusetd alone, and the next change or round tries again. */
  private continue(): void {
    const { faults, signal } = this.parts;
    const isComplete = signal.aborted || (faults.contain('telling containers their CPUs', () => this.slice()) ?? true);
    if (isComplete) this.isBusy = false;
    else setTimeout(() => this.continue(), BREAK_MS).unref();
  }

  /** False when files are left for the next slice. */
  private slice(): boolean {
    const { model } = this.parts;
    const endMs = performance.now() + SLICE_MS;
    for (const [name, container] of this.findLive()) {
      const held = this.held.get(name);
      if (!held || !isInForce(container)) continue;
      const sources: Sources = {
        promise: container.promise,
        assignment: assignmentOf(model, container),
        topology: model.topology,
      };
      if (this.tried.has(name) || (held.sources && sameSources(held.sources, sources))) continue;
      if (performance.now() >= endMs) return false;
      if (!this.update(container, name, held, sources)) this.tried.add(name);
    }
    return true;
  }

  /** The containers that have a directory. Of two with the same name, one of which has ended and is not reported yet, the newer one. */
  private findLive(): Map<string, Container> {
    const live = new Map<string, Container>();
    for (const container of this.parts.model.containers.values()) {
      const name = this.nameOf(container);
      if (name !== undefined && this.held.has(name)) live.set(name, container);
    }
    return live;
  }

  private nameOf(container: Container): string | undefined {
    const known = this.names.get(container.id);
    if (known !== undefined || this.names.has(container.id)) return known;
    const name = directoryNameOf(container);
    this.names.set(container.id, name);
    return name;
  }

  /** False when the file can't be written: the next change or round tries again, and others have their turn. */
  private update(container: Container, name: string, held: Held, sources: Sources): boolean {
    const { directories, model, log } = this.parts;
    const identity = identityOf(model, container);
    try {
      const written = held.written ?? parseIdentity(directories.read(name, FILE_NAME) ?? '');
      if (!written || !saysTheSame(written, identity)) {
        if (!directories.exists(name)) {
          log.warn(
            { ...namesIn(model, container), directory: directories.pathOf(name) },
            'the directory of a CPU identity is gone: the container is not told of changes until it is created again',
          );
          this.drop(name);
          return true;
        }
        directories.replace(name, FILE_NAME, formatIdentity(identity));
        this.succeed(ROOT, name);
      }
      this.hold(name, { written: written && saysTheSame(written, identity) ? written : identity, sources });
      return true;
    } catch (error) {
      this.fail(name, error);
      return false;
    }
  }

  private hold(name: string, held: Held): void {
    if (!this.held.has(name)) this.changes++;
    this.held.set(name, held);
  }

  private forget(name: string): void {
    this.untidy.delete(name);
    if (this.held.delete(name)) this.changes++;
  }

  private drop(name: string): void {
    this.forget(name);
    this.succeed(name);
    this.remove(name);
  }

  private remove(name: string): void {
    try {
      if (!this.held.has(name)) this.parts.directories.remove(name, FILE_NAME);
      this.leaving.delete(name);
    } catch (error) {
      if (this.leaving.delete(name)) {
        this.leaving.add(name); // at the end: the next round tries others first
        return;
      }
      this.parts.log.warn(
        { because: messageOf(error) },
        'the directory of a CPU identity cannot be removed; trying again',
      );
      if (this.leaving.size < MAX_LEAVING) this.leaving.add(name);
    }
  }

  private fail(name: string, error: unknown): void {
    this.failures.set(name, messageOf(error));
    this.showFailures();
  }

  private succeed(...names: readonly string[]): void {
    if (names.filter((name) => this.failures.delete(name)).length > 0) this.showFailures();
  }

  /** One alarm for all, which ends with the last of them. */
  private showFailures(): void {
    const [first, ...others] = new Set(this.failures.values());
    const more = others.length > 0 ? `; and ${others.length} more` : '';
    this.parts.alarms.update('cpu-identity', '', first === undefined ? undefined : `${first}${more}`);
  }
}

function sameSources(a: Sources, b: Sources): boolean {
  return a.promise === b.promise && a.assignment === b.assignment && a.topology === b.topology;
}
