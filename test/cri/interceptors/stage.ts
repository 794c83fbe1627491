import { CreateContainerResponse } from '../../gen/cri/v1/cri';
import { EventBatcher } from '../../../src/app/transaction/event-batcher';
import { Transactor } from '../../../src/app/transaction/transactor';
import type { SaveProblem, Transaction } from '../../../src/app/transaction/transaction';
import { CpusetdError } from '../../../src/core/errors';
import type { ContainerInfo, RuntimeEvent } from '../../../src/core/model/events';
import { samePromise } from '../../../src/core/model/container';
import { NodeModel } from '../../../src/core/model/node-model';
import { createInterceptors, type InterceptorSet } from '../../../src/cri/interceptors';
import type { CallContext, CallEnd, Interceptor } from '../../../src/cri/proxy';
import { EIGHT_CPUS, settingsWith, type Rules } from '../../core/transition/node-driver';
import { watchLog } from '../../support/watched-log';
import { createRequest } from './messages';

const OK = { code: 0, message: '' };

/** One call with its hooks in the order of the proxy, at the times that the test chooses. */
export class Call {
  readonly abort = new AbortController();
  readonly context: CallContext;
  readonly interceptor: Interceptor;
  wasForwarded = false;

  constructor(adapter: InterceptorSet, method: string) {
    const path = `/runtime.v1.RuntimeService/${method}`;
    this.interceptor = adapter.interceptors.get(path)!;
    this.context = { path, metadata: [], signal: this.abort.signal };
  }

  /** The bytes to forward, or the text of the refusal; the proxy then ends the call by itself. */
  async request(message: Uint8Array): Promise<Uint8Array | string> {
    const verdict = (await this.interceptor.onRequest?.(message, this.context)) ?? message;
    if ('refuse' in verdict) {
      await this.end({ origin: 'proxy', status: { code: verdict.refuse.code, message: '' } });
      return `${verdict.refuse.reason}: ${verdict.refuse.message}`;
    }
    this.wasForwarded = true;
    return verdict;
  }

  async answer(message: Uint8Array = new Uint8Array()): Promise<void> {
    await this.interceptor.onResponse?.(message, this.context);
    this.interceptor.onPassed?.(message, this.context);
    await this.end({ origin: 'runtime', status: OK });
  }

  /** The proxy refuses it before an interceptor has seen its request. */
  async refuseUnread(code: number, message: string): Promise<void> {
    await this.end({ origin: 'proxy', status: { code, message } });
  }

  async fail(): Promise<void> {
    await this.end({ origin: 'runtime', status: { code: 2, message: 'runtime says no' } });
  }

  async cancel(): Promise<void> {
    await this.end({ origin: 'caller', status: { code: 1, message: '' } });
  }

  private async end(end: Omit<CallEnd, 'forwarded'>): Promise<void> {
    if (end.origin !== 'runtime') this.abort.abort();
    await this.interceptor.onEnd?.({ ...end, forwarded: this.wasForwarded }, this.context);
  }
}

/** The adapter on a real model and transactor; runtime and kernel do what the test says. */
export class Stage {
  readonly model: NodeModel;
  readonly events: RuntimeEvent['kind'][] = [];
  readonly carried: string[] = [];
  /** True when cgroups can be written directly; otherwise the runtime is asked. */
  writes = true;
  ready: boolean | Promise<boolean> = true;
  carryOut: (ids: readonly string[]) => Promise<string | undefined> = () => Promise.resolve(undefined);
  /** True when the kernel adopts the writes of `carryOut`. */
  adoptWrites = true;
  readContainer: (id: string) => Promise<ContainerInfo | undefined> = () => Promise.resolve(undefined);
  synchronize: () => Promise<void> = () => Promise.reject(new CpusetdError('UNAVAILABLE', 'not asked for'));
  saves = 0;
  saveProblem: SaveProblem | undefined;
  onTransaction: (done: Transaction) => void = () => undefined;
  /** Called before the transactor; for faults. */
  beforeHandle: () => void = () => undefined;
  readonly adapter: InterceptorSet;
  /** All log lines. */
  readonly lines = watchLog();

  constructor(rules: Rules = {}) {
    this.model = new NodeModel(EIGHT_CPUS, settingsWith(rules));
    const { log } = this.lines;
    const transactor = new Transactor({
      model: this.model,
      now: () => '2026-01-01T00:00:00Z',
      save: () => (this.saves++, this.saveProblem),
      mover: { move: () => (this.writes ? undefined : { kind: 'off', because: 'off' }) },
      log,
      observer: { onTransaction: (done) => this.onTransaction(done) },
    });
    const queue = new EventBatcher((events) => {
      this.beforeHandle();
      this.events.push(...events.map(({ kind }) => kind));
      return transactor.handleAll(events);
    });
    this.adapter = createInterceptors({
      node: this.model,
      handle: queue.handle,
      conclude: (end) => transactor.conclude(end),
      whenReady: () => this.ready,
      carryOut: async (asked) => {
        const ids = asked.filter((id) => this.isBehind(id));
        if (ids.length === 0) return undefined;
        this.carried.push(...ids);
        const failure = await this.carryOut(ids);
        if (failure === undefined && this.adoptWrites) ids.forEach((id) => this.settle(id));
        return failure;
      },
      synchronize: () => this.synchronize(),
      readContainer: (id) => this.readContainer(id),
      runtimeName: () => 'containerd',
      log,
    });
  }

  call(method: string): Call {
    return new Call(this.adapter, method);
  }

  /** Creates `pod/name`; the runtime gives it that as its id. */
  async create(target: string, cpus: number): Promise<Uint8Array | string> {
    const call = this.call('CreateContainer');
    const verdict = await call.request(createRequest(target, cpus));
    if (typeof verdict !== 'string') await call.answer(created(target));
    return verdict;
  }

  async start(id: string): Promise<void> {
    const call = this.call('StartContainer');
    await call.request(idOf(id));
    await call.answer();
  }

  async run(target: string, cpus: number): Promise<void> {
    await this.create(target, cpus);
    await this.start(target);
  }

  async end(method: string, id: string): Promise<void> {
    const call = this.call(method);
    await call.request(idOf(id));
    await call.answer();
  }

  /** The promised CPUs by container id, and the shared pool. */
  get promises(): Record<string, string> {
    const shown = [...this.model.containers.values()].map(({ id, promise }) => [id, promise?.cpus.toString() ?? '']);
    return { ...(Object.fromEntries(shown) as Record<string, string>), pool: this.model.sharedPool.toString() };
  }

  private isBehind(id: string): boolean {
    const { promise, applied, runtimeRecord } = this.model.containers.get(id) ?? {};
    return !samePromise(promise, applied) || !samePromise(promise, runtimeRecord);
  }

  /** The runtime has written all promises. */
  private settle(id: string): void {
    const container = this.model.containers.get(id);
    if (!container?.promise) return;
    const { promise } = container;
    this.model.apply({ kind: 'put-container', container: { ...container, applied: promise, runtimeRecord: promise } });
  }
}

/** Messages whose only field is an id. */
export function idOf(id: string): Uint8Array {
  return CreateContainerResponse.encode({ containerId: id }).finish();
}

export const created = idOf;

/** Lets all pending callbacks run that wait for no I/O. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
}
