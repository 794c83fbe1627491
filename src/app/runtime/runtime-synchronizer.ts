import { setTimeout as delay } from 'node:timers/promises';
import { CpusetdError, toErrorStatus } from '../../core/errors';
import { captureBaseline, mergeInventory } from '../../core/transition';
import type { RuntimeVersion } from '../../cri/client';
import { BackOff } from '../../net/back-off';
import { ConnectionTracker, LastProblem, type Connection, type ConnectionState } from '../../net/connection-state';
import { logFault } from '../alarms/faults';
import { readLiveCpusets } from '../cgroups/container-observer';
import type { AttachmentParts } from './attachment';
import { ReadinessGate } from './readiness-gate';

/**
 * `lost`: no process listens on the runtime's socket. `connecting`: not asked yet, or it could not be asked.
 * `synchronizing`: it is asked for all its containers. `ready`: the model has all of them; a later synchronization does
 * not leave this state.
 */
type State = 'lost' | 'connecting' | 'synchronizing' | 'ready';

const SHOWN: Readonly<Record<State, ConnectionState>> = {
  lost: 'connecting',
  connecting: 'connecting',
  synchronizing: 'synchronizing',
  ready: 'ready',
};

/** Maximum time a call waits for a synchronization. */
const GATE_TIMEOUT_MS = 10_000;

/**
 * Keeps the model complete behind the CRI proxy: asks the runtime over CRI for all that it has, and decides when calls
 * may pass.
 */
export class RuntimeSynchronizer {
  /** Resolves after the first synchronization, or the first failure of one. */
  readonly firstContact: Promise<void>;
  /** The runtime that was synchronized with last. */
  runtime: RuntimeVersion | undefined;
  private noteContact: () => void = () => undefined;
  private state: State = 'connecting';
  private readonly gate = new ReadinessGate();
  private readonly tracker: ConnectionTracker;
  private readonly problem = new LastProblem();
  /** The last synchronization that was begun, and one that waits for its end. */
  private running: Promise<unknown> = Promise.resolve();
  private next: Promise<void> | undefined;

  constructor(private readonly parts: Omit<AttachmentParts, 'pauses'>) {
    this.tracker = new ConnectionTracker({ state: 'connecting', since: parts.context.now(), reason: '' });
    this.firstContact = new Promise((resolve) => (this.noteContact = resolve));
  }

  get connection(): Connection {
    return this.tracker.current;
  }

  /**
   * Resolves with true when the model has all containers, with false when the signal is aborted or a limit of time is
   * over.
   */
  whenReady(signal: AbortSignal): boolean | Promise<boolean> {
    return this.gate.whenOpen({ signal, timeoutMs: GATE_TIMEOUT_MS });
  }

  /** The runtime's socket is listened on again, or no longer. */
  onUpstream(isUp: boolean): void {
    const { context, gap } = this.parts;
    const { config, log, signal } = context;
    if (signal.aborted) return;
    if (!isUp) {
      gap.begin();
      this.enter(
        'lost',
        `nobody listens at ${config.criEndpoint}: the runtime is away; start it, and it is connected to again by itself`,
      );
      log.warn({ endpoint: config.criEndpoint }, 'the runtime is away');
    } else if (this.state !== 'ready') {
      if (this.state === 'lost') this.state = 'connecting'; // shown with the reason of before until the runtime was asked
      this.synchronizeUntilReady().catch((error: unknown) => logFault(log, 'synchronizing has ended', error));
    }
  }

  /** Tries with growing delays until the model has all containers, the runtime is lost, or the daemon ends. */
  async synchronizeUntilReady(): Promise<void> {
    const { signal } = this.parts.context;
    const backOff = new BackOff({ leastMs: 100, mostMs: 3_000, jitter: 0 });
    while (!signal.aborted && this.state !== 'lost') {
      try {
        await this.synchronize();
        return;
      } catch (error) {
        this.noteFailure(error);
      }
      await delay(backOff.next(), undefined, { signal }).catch(() => undefined);
    }
  }

  /** Asks once more, in the background. */
  resynchronize(): void {
    this.synchronize().catch((error: unknown) => this.noteFailure(error));
  }

  /**
   * Runs one synchronization at a time. A caller that arrives during a run waits for the next one: the current run may
   * have listed the containers before the caller's change.
   */
  synchronize(): Promise<void> {
    this.next ??= this.running.then(() => {
      this.next = undefined;
      const run = this.synchronizeOnce();
      this.running = run.catch(() => undefined);
      return run;
    });
    return this.next;
  }

  private async synchronizeOnce(): Promise<void> {
    const { context, transactor, client, gap } = this.parts;
    const { model, cgroups, log } = context;
    if (this.state === 'connecting') this.enter('synchronizing', 'asking the runtime for all its containers');
    const before = captureBaseline(model);
    const runtime = await client.ask((cri, options) => cri.version(options));
    const inventory = await client.ask((cri, options) => cri.readNode(options));
    if (this.state === 'lost') throw new CpusetdError('UNAVAILABLE', 'the runtime went away while it was asked');
    const event = mergeInventory(model, before, inventory);
    this.runtime = runtime;
    const answer = transactor.handle(event, readLiveCpusets(cgroups, event.containers));
    if (answer.kind === 'refuse') throw new CpusetdError(answer.code, answer.message);
    this.problem.clear();
    gap.end();
    this.enter('ready');
    log.info({ runtime, containers: event.containers.length }, 'synchronized with the runtime');
    this.noteContact();
  }

  private noteFailure(error: unknown): void {
    const { message: reason } = toErrorStatus(error);
    if (this.state !== 'ready') this.enter(this.state === 'lost' ? 'lost' : 'connecting', reason);
    if (this.problem.isNew(reason))
      this.parts.context.log.warn({ reason, err: error }, 'the runtime could not be asked what it has');
    this.noteContact();
  }

  private enter(state: State, reason = ''): void {
    const { health, events } = this.parts.context;
    this.state = state;
    if (state === 'ready') this.gate.open();
    else this.gate.close();
    this.tracker.become(SHOWN[state], reason);
    health.set('cri', state === 'ready' ? 'SERVING' : 'NOT_SERVING');
    events.emit('changed');
  }
}
