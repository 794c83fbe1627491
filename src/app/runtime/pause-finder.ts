import { CpuSet } from '../../core/cpuset';
import type { FoundPause, NodeEvent, PauseInfo, RuntimeEvent } from '../../core/model/events';
import type { NodeView } from '../../core/model/node-view';
import type { ThreadInfo } from '../../host';
import { EarliestTimer } from '../../net/earliest-timer';
import type { Faults } from '../alarms/faults';
import type { ContainerCgroups } from '../cgroups/container-cgroups';

export interface PauseFinderParts {
  readonly model: NodeView;
  /** The only way to move a pause container. */
  readonly cgroups: Pick<ContainerCgroups, 'files' | 'finder' | 'canWrite'>;
  /** Brings the pause containers that were found into the model. */
  readonly report: (pauses: readonly FoundPause[]) => void;
  /**
   * Asks the runtime for the pause container of a sandbox whose events do not name it; absent = there is no way to ask.
   */
  readonly ask?: (sandboxId: string) => Promise<PauseInfo | undefined>;
  readonly faults: Faults;
  readonly signal: AbortSignal;
}

/** Maximum number of sandboxes that are inspected in one turn; each costs about 0.1 ms. */
const LOOKS_AT_ONCE = 32;
const ASKED_AT_ONCE = 4;
/** The process of a container that runc has made and that has not begun its own program. It has some threads. */
const RUNC_INIT = 'runc:[2:INIT]';
const MOST_THREADS = 64;
/** Before each further look at what is no pause container, and may become one. */
const DELAYS_MS: readonly number[] = [5, 20, 100, 500, 2_000, 10_000];

interface Waiting {
  readonly pause: PauseInfo | undefined;
  /** Number of looks at it so far. */
  readonly looks: number;
  readonly dueMs: number;
}

/**
 * Finds the pause containers of sandboxes, and makes sure that they are nothing else: with Kata or gVisor the cgroup of
 * the sandbox has the virtual machine or the kernel in which the containers run, and a move of it moves them too. A
 * cgroup with one process of one thread is a pause container, and one in which runc is about to start it; any other
 * stays where it is.
 */
export class PauseFinder {
  private readonly waiting = new Map<string, Waiting>();
  private asked = 0;
  private readonly timer: EarliestTimer;

  constructor(private readonly parts: PauseFinderParts) {
    const { faults, signal } = parts;
    this.timer = new EarliestTimer(() => faults.contain('looking for pause containers', () => this.takeTurn()), signal);
  }

  /**
   * The event, and what is found for it: handled together they move the pause container of a new pod before the answer.
   */
  withPause(event: RuntimeEvent): readonly RuntimeEvent[] {
    if (event.kind !== 'pod-started' || !event.pod.pause) return [event];
    const { sandboxId, pause } = event.pod;
    const found = this.parts.faults.contain('looking for pause containers', () => this.look(sandboxId, pause, 0));
    return found ? [event, { kind: 'pauses-found', pauses: [found] }] : [event];
  }

  /** Looks, in later turns of the event loop, for the pause containers of the pods in this event. */
  follow(event: NodeEvent): void {
    if (event.kind === 'synchronize')
      for (const { sandboxId, pause } of event.pods) this.lookLater(sandboxId, pause, 0);
    if (event.kind !== 'pod-started') return;
    const { sandboxId, pause } = event.pod;
    const isKnown = this.parts.model.allContainers.has(sandboxId) || this.waiting.has(sandboxId);
    if (!isKnown) this.lookLater(sandboxId, pause, 0);
  }

  private lookLater(sandboxId: string, pause: PauseInfo | undefined, looks: number): void {
    const delayMs = looks === 0 ? 0 : DELAYS_MS[looks - 1];
    this.waiting.delete(sandboxId);
    if (delayMs === undefined) return;
    const dueMs = performance.now() + delayMs;
    this.waiting.set(sandboxId, { pause, looks, dueMs });
    this.timer.startIn(delayMs);
  }

  private takeTurn(): void {
    const { ask, report, faults } = this.parts;
    const due = this.takeDue(performance.now());
    const found = due.flatMap(([sandboxId, { pause, looks }]) => {
      if (pause) return this.look(sandboxId, pause, looks) ?? [];
      if (ask)
        this.find(ask, sandboxId, looks).catch((error: unknown) => faults.note('asking for pause containers', error));
      return [];
    });
    if (found.length > 0) report(found);
  }

  /** Takes some of the sandboxes that are due. Limits those for which the runtime has to be asked. */
  private takeDue(nowMs: number): [sandboxId: string, waiting: Waiting][] {
    const { model, ask } = this.parts;
    const due: [string, Waiting][] = [];
    let mayAsk = ASKED_AT_ONCE - this.asked;
    for (const [sandboxId, waiting] of this.waiting) {
      const isFull = due.length === LOOKS_AT_ONCE;
      if (isFull || waiting.dueMs > nowMs) this.timer.startIn(isFull ? 0 : waiting.dueMs - nowMs);
      if (isFull) break;
      if (waiting.dueMs > nowMs) continue;
      const isOver = model.pods.get(sandboxId)?.stopped !== false;
      const mustAsk = !isOver && !waiting.pause && ask !== undefined;
      if (mustAsk && mayAsk-- <= 0) continue; // the end of a question starts the next turn
      this.waiting.delete(sandboxId);
      if (!isOver) due.push([sandboxId, waiting]);
    }
    return due;
  }

  private async find(ask: NonNullable<PauseFinderParts['ask']>, sandboxId: string, looks: number): Promise<void> {
    this.asked++;
    try {
      const pause = await ask(sandboxId);
      if (pause) this.lookLater(sandboxId, pause, 0);
    } catch {
      this.lookLater(sandboxId, undefined, looks + 1); // after a lost connection the runtime reports all pods
    } finally {
      this.asked--;
      this.timer.startIn(0);
    }
  }

  /** Looks at it now; it is looked at again where that may change soon. */
  private look(sandboxId: string, pause: PauseInfo, looks: number): FoundPause | undefined {
    const { found, staysBecause, isFinal } = inspect(this.parts, sandboxId, pause);
    if (!isFinal) this.lookLater(sandboxId, pause, looks + 1);
    else this.waiting.delete(sandboxId);
    return found && { sandboxId, ...pause, found, ...(staysBecause !== undefined && { staysBecause }) };
  }
}

interface Seen {
  /** Absent where there is nothing that could be moved. */
  readonly found?: CpuSet;
  readonly staysBecause?: string;
  readonly isFinal: boolean;
}

function inspect({ cgroups: { files, finder, canWrite } }: PauseFinderParts, id: string, pause: PauseInfo): Seen {
  const stays = (staysBecause: string, { found = CpuSet.empty, isFinal = true } = {}): Seen => ({
    found,
    staysBecause,
    isFinal,
  });
  const at = finder.find({ ...pause, id });
  if (at.kind === 'refused') return stays(at.because);
  if (at.kind === 'gone') return { isFinal: false };
  const reading = files.readCpus(at.path);
  if (reading.kind === 'gone') return { isFinal: false };
  if (reading.kind === 'error') return stays(reading.because, { isFinal: false });
  const found = reading.cpus;
  if (!canWrite) return stays('cgroup-writes is off, and the runtime moves no pause container', { found });
  const list = files.listThreads(at.path, { maxThreads: MOST_THREADS });
  if (list.kind === 'gone') return { isFinal: false };
  if (list.kind === 'error') return stays(list.because, { found, isFinal: false });
  if (list.hidden > 0)
    return stays('its processes cannot be seen, since cpusetd runs without the PID namespace of the node', { found });
  if (list.threads.length === 0) return { isFinal: false };
  return !list.more && isPause(list.threads)
    ? { found, isFinal: true }
    : stays('its cgroup holds more than a pause process, such as a virtual machine', { found, isFinal: false });
}

/**
 * One process that is all here, and has one thread, unless it is still runc that is about to become the pause process.
 */
function isPause(threads: readonly ThreadInfo[]): boolean {
  const { pid } = threads[0]!;
  const isWhole = threads.some(({ tid }) => tid === pid) && threads.every((thread) => thread.pid === pid);
  return isWhole && (threads.length === 1 || threads.every(({ name }) => name === RUNC_INIT));
}
