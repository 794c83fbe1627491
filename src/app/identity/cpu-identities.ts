import type { Logger } from 'pino';
import { identityOf, isInForce, saysTheSame } from '../../core/identity/cpu-identity';
import { formatIdentity, parseIdentity } from '../../core/identity/document';
import { directoryNameOf, FILE_NAME, isDirectoryName } from '../../core/identity/where';
import type { Assignment } from '../../core/model/assignment';
import type { Container } from '../../core/model/container';
import type { CpuIdentity, IdentityMount } from '../../core/model/cpu-identity';
import { namesIn } from '../../core/model/names-of';
import type { NodeView } from '../../core/model/node-view';
import type { ContainerDirectories } from '../../host';
import type { Alarms } from '../alarms/alarms';
import type { Faults } from '../alarms/faults';
import type { IdentityWriter } from '../transaction/carry-out';
import { DirectoryCleaner } from './directory-cleaner';
import { ROOT, WriteFailures } from './write-failures';

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

/**
 * Maximum time for which files are replaced at once, in ms. The next ones follow after a break, so that a creation
 * waits for none of them.
 */
const SLICE_MS = 0.5;
const BREAK_MS = 5;

/**
 * The files from which containers learn their CPUs. Before a creation its file is written at once. All else comes after
 * the answers: a change reaches the file when it has reached the kernel, and only the last of several is written.
 */
export class CpuIdentities implements IdentityWriter {
  private readonly held = new Map<string, Held>();
  /** By container id. */
  private names = new Map<string, string | undefined>();
  private readonly failures: WriteFailures;
  private readonly cleaner: DirectoryCleaner;
  /** The directories that were tried in the changes that are under way. */
  private tried = new Set<string>();
  private isOpen = false;
  private isBusy = false;
  private changes = 0;

  constructor(private readonly parts: CpuIdentitiesParts) {
    this.failures = new WriteFailures(parts.alarms);
    this.cleaner = new DirectoryCleaner(parts.directories, parts.log);
    try {
      for (const name of parts.directories.list()) if (isDirectoryName(name)) this.held.set(name, {});
    } catch (error) {
      this.failures.add(ROOT, error);
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
      this.failures.clear(ROOT);
    } catch (error) {
      this.failures.add(ROOT, error);
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
      this.failures.add(ROOT, error);
      this.drop(name);
      return undefined;
    }
    this.hold(name, { written: identity });
    this.failures.clear(ROOT, name);
    return { hostDirectory: directories.pathOf(name), ...(identity.cpus && { cpus: identity.cpus }) };
  }

  /** Brings the files to what holds now, in small parts. Returns at once. */
  readonly follow = (): void => {
    if (this.held.size === 0 || this.isBusy) return;
    this.isBusy = true;
    this.tried = new Set();
    this.continue();
  };

  /**
   * A round: all files are brought to what holds, and directories are removed that have had no container since the last
   * round.
   */
  round(): void {
    if (!this.isOpen && this.parts.model.settings.cpuIdentity) this.open();
    this.names = new Map();
    this.follow();
    this.cleaner.retry((name) => this.held.has(name));
    if (!this.parts.model.synchronized || this.held.size === 0) return;
    const live = this.findLive();
    for (const [name, { isIdle, ...held }] of this.held) {
      if (live.has(name)) {
        if (isIdle) this.held.set(name, held);
      } else if (isIdle) this.drop(name);
      else this.held.set(name, { ...held, isIdle: true });
    }
    this.cleaner.tidy([...live], (name, container) => this.restore(name, container));
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
        assignment: model.assignmentOf(container),
        topology: model.topology,
      };
      if (this.tried.has(name) || (held.sources && sameSources(held.sources, sources))) continue;
      if (performance.now() >= endMs) return false;
      if (!this.write(container, name, held, sources)) this.tried.add(name);
    }
    return true;
  }

  /** The containers that have a directory; of two with the same name the newer one, since the other has ended. */
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
  private write(container: Container, name: string, held: Held, sources: Sources): boolean {
    const { directories, model, log } = this.parts;
    const identity = identityOf(model, container);
    try {
      const before = held.written ?? parseIdentity(directories.read(name, FILE_NAME) ?? '');
      if (!before || !saysTheSame(before, identity)) {
        if (!directories.exists(name)) {
          log.warn(
            { ...namesIn(model, container), directory: directories.pathOf(name) },
            'the directory of a CPU identity is gone: the container is not told of changes until it is created again',
          );
          this.drop(name);
          return true;
        }
        directories.replace(name, FILE_NAME, formatIdentity(identity));
        this.failures.clear(ROOT, name);
      }
      this.hold(name, { written: before && saysTheSame(before, identity) ? before : identity, sources });
      return true;
    } catch (error) {
      this.failures.add(name, error);
      return false;
    }
  }

  private hold(name: string, held: Held): void {
    if (!this.held.has(name)) this.changes++;
    this.held.set(name, held);
  }

  private drop(name: string): void {
    if (this.held.delete(name)) this.changes++;
    this.failures.clear(name);
    this.cleaner.remove(name);
  }
}

function sameSources(a: Sources, b: Sources): boolean {
  return a.promise === b.promise && a.assignment === b.assignment && a.topology === b.topology;
}
