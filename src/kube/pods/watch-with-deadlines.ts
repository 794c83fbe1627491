import type { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { KubeConfig, Watch } from '../client-library';
import { BackOff } from '../../net/back-off';
import { KubeError } from '../api/kube-error';
import type { KubeClient } from '../api/kube-client';

type Done = (error: unknown) => void;
type OnEvent = (phase: string, object: unknown, watched?: unknown) => void;

export interface PacedWatchParts {
  readonly client: KubeClient;
  readonly signal: AbortSignal;
  /** A watch is asked for: what was listed before is complete. */
  readonly onBegin: () => void;
  /** The server tells of changes from now on. */
  readonly onOpen: () => void;
  /** What an object is kept as. */
  readonly reduce: (object: unknown) => unknown;
  /** The server ends a watch after this time by itself; one that lasts longer is dead. */
  readonly lifeMs: number;
  /** How long a server may take to begin its answer. */
  readonly answerMs?: number;
}

/** A watch that lasted so long was a real one. */
const REAL_MS = 5_000;

/** An event is one object, of 1.5 MiB at most as the API server has it by default; the library keeps what is not yet a whole line. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;
const LENGTH_CHECK_MS = 100;

/**
 * The library's watch with what it leaves to its users: watches that end at once are not begun anew without a pause, an
 * answer that never comes, an event without an end and a connection that died without a word are given up, and closing is final.
 */
export class PacedWatch extends Watch {
  private readonly backOff = new BackOff({ leastMs: 100, mostMs: 10_000 });
  private agent: Agent | undefined;
  private endedSoon = false;

  constructor(private readonly parts: PacedWatchParts) {
    super(new KubeConfig()); // replaced before each use
    parts.signal.addEventListener('abort', () => this.agent?.destroy(), { once: true });
  }

  override async watch(
    path: string,
    query: Record<string, string>,
    onEvent: OnEvent,
    done: Done,
  ): Promise<AbortController> {
    const { client, signal, answerMs = 30_000, lifeMs, onBegin, onOpen, reduce } = this.parts;
    onBegin();
    if (this.endedSoon) await pause(this.backOff.next(), undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return abortedController();
    try {
      this.config = this.noteAgent(await client.config());
    } catch (error) {
      done(error);
      return abortedController();
    }

    const begunMs = performance.now();
    let isOver = false;
    let bytesBefore = 0;
    let tooLong: KubeError | undefined;
    const lengthCheck = setInterval(() => {
      if (this.bytesRead - bytesBefore <= MAX_EVENT_BYTES) return;
      tooLong = new KubeError(`the API server sent an event of more than ${MAX_EVENT_BYTES} bytes`, 0);
      this.agent?.destroy();
    }, LENGTH_CHECK_MS).unref();
    let timer = setTimeout(() => this.agent?.destroy(), answerMs);
    const over = (error: unknown): void => {
      isOver = true;
      clearTimeout(timer);
      clearInterval(lengthCheck);
      this.endedSoon = performance.now() - begunMs < REAL_MS;
      if (!this.endedSoon) this.backOff.reset();
      if (!signal.aborted) done(tooLong ?? error);
    };
    const tell: OnEvent = (phase, object, watched) => {
      bytesBefore = this.bytesRead;
      onEvent(phase, phase === 'ERROR' ? object : reduce(object), watched);
    };
    let controller;
    try {
      controller = await super.watch(path, query, tell, over);
    } catch (error) {
      over(error); // no credentials: the library tells that to nobody, and a rejection of ours would end the daemon
      return abortedController();
    }
    if (isOver) return controller;
    clearTimeout(timer);
    timer = setTimeout(() => controller.abort(), lifeMs + answerMs).unref();
    if (signal.aborted) controller.abort();
    else onOpen();
    return controller;
  }

  /** Of the connection, from its beginning. */
  private get bytesRead(): number {
    const sockets = Object.values(this.agent?.sockets ?? {}).flat();
    return sockets.reduce((sum, socket) => sum + (socket?.bytesRead ?? 0), 0);
  }

  /** The same configuration; the connection that is made with it can be cut from here. */
  private noteAgent(config: KubeConfig): KubeConfig {
    const noting = Object.create(config) as KubeConfig;
    noting.applyToFetchOptions = async (options) => {
      const init = await config.applyToFetchOptions(options);
      this.agent = init.agent as Agent | undefined;
      return init;
    };
    return noting;
  }
}

function abortedController(): AbortController {
  const controller = new AbortController();
  controller.abort();
  return controller;
}
