import { request as requestHttp, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
import { asObject, asString, type JsonObject } from '../json';
import { explainStatus, KubeError } from './kube-error';
import { ListSplitter } from './list-splitter';
import { loadKubeConfig, type GuardedKubeConfig, type KubeConfigSource } from './load-kube-config';
import { untilAborted, withinTime } from './within-time';

/** Longest body: one object, or the rest of a list whose items were taken one by one. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;
const DEFAULT_TIMEOUT_MS = 15_000;

/** Longest event: one object, at most 1.5 MiB by default. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;
const NEWLINE = 0x0a;
/** TCP keep-alive begins after this time without data. */
const KEEP_ALIVE_MS = 30_000;

export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Begins with a slash. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly contentType?: string;
  readonly timeoutMs?: number;
  /** Takes each item of a list as it comes, so that a long list is never in memory as a whole; the answer then has no items. */
  readonly onItem?: (item: unknown) => void;
}

export interface KubeWatch {
  /** Path of the collection; begins with a slash. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Maximum time until the answer begins, credentials included. */
  readonly answerMs: number;
  /** Maximum time from then on. */
  readonly lifeMs: number;
  /** The answer has begun: the server sends changes from now on. */
  readonly onOpen: () => void;
  /** `type`: ADDED, MODIFIED, DELETED or BOOKMARK. */
  readonly onEvent: (type: string, object: unknown) => void;
}

/** Content types of patches. */
export const MERGE_PATCH = 'application/merge-patch+json';
export const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';

/**
 * Calls the API server with the identity of a kubeconfig or of the pod's service account. The library provides identity, TLS and
 * refreshed tokens. Its typed clients are not used, since the models of all of Kubernetes are larger than the daemon.
 */
export class KubeClient {
  private loaded: Promise<GuardedKubeConfig> | undefined;

  constructor(
    private readonly source: KubeConfigSource,
    private readonly signal: AbortSignal,
  ) {}

  /** Reads the kubeconfig once, and again after a failure: it may appear or change while we run. Throws KubeError. */
  config(): Promise<GuardedKubeConfig> {
    this.loaded ??= loadKubeConfig(this.source, { signal: this.signal }).catch((error: unknown) => {
      this.loaded = undefined;
      throw error;
    });
    return this.loaded;
  }

  /** The next call reads the kubeconfig anew. */
  forgetConfig(): void {
    this.loaded = undefined;
  }

  /**
   * Returns the parsed JSON of a successful answer. Throws KubeError for every other outcome, also when the daemon ends. One time
   * limit covers reading the kubeconfig, getting credentials, connecting, and the whole answer.
   */
  async send(call: KubeRequest): Promise<unknown> {
    return this.ask(call, call.timeoutMs ?? DEFAULT_TIMEOUT_MS, async (response) => {
      const isList = call.onItem !== undefined && response.statusCode === 200;
      return parseJson(await (isList ? readItems(response, call.onItem) : readBody(response)));
    });
  }

  /**
   * Passes on the events of a watch one by one, and resolves when the server has ended it. Throws KubeError for every other
   * outcome, also for an error that the server sends in the watch, and when the daemon ends. One time limit holds until the
   * answer begins, another from then on.
   */
  async watch(call: KubeWatch): Promise<void> {
    const query = { ...call.query, watch: 'true' };
    await this.ask({ method: 'GET', path: call.path, query }, call.answerMs, async (response, extend) => {
      extend(call.lifeMs);
      response.socket.setKeepAlive(true, KEEP_ALIVE_MS);
      call.onOpen();
      await readEvents(response, call.onEvent);
    });
  }

  /** Sends the request and has `take` read a successful answer. */
  private async ask<T>(
    call: KubeRequest,
    timeoutMs: number,
    take: (response: IncomingMessage, extend: (timeoutMs: number) => void) => Promise<T>,
  ): Promise<T> {
    try {
      return await withinTime({ signal: this.signal, timeoutMs }, async (limit, extend) => {
        const config = await untilAborted(this.config(), limit, () => 'the kubeconfig did not come in time');
        return await this.exchange(config, call, limit, (response) => take(response, extend));
      });
    } catch (error) {
      throw error instanceof KubeError ? error : new KubeError((error as Error).message, 0, { cause: error });
    }
  }

  private async exchange<T>(
    config: GuardedKubeConfig,
    call: KubeRequest,
    signal: AbortSignal,
    take: (response: IncomingMessage) => Promise<T>,
  ): Promise<T> {
    const server = config.getCurrentCluster()?.server;
    if (server === undefined) throw new KubeError('the kubeconfig names no cluster for its current context', 0);
    const url = new URL(server.replace(/\/$/, '') + call.path);
    for (const [name, value] of Object.entries(call.query ?? {})) url.searchParams.set(name, value);

    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    const options: RequestOptions = { method: call.method, headers: headersOf(call, body), signal };
    const applied = config.applyToHTTPSOptions(options as Parameters<GuardedKubeConfig['applyToHTTPSOptions']>[0]);
    await untilAborted(applied, signal, () => config.delay);
    try {
      const response = await openRequest(url, options, body);
      const status = response.statusCode ?? 0;
      if (status >= 200 && status < 300) return await take(response);
      if (status === 401) this.forgetConfig();
      throw toKubeError(status, await readBody(response), readRetryAfter(response));
    } catch (error) {
      if (error instanceof KubeError) throw error;
      this.forgetConfig(); // certificates and addresses may have changed
      const why = signal.aborted ? 'it did not answer in time' : describeFault(error);
      throw new KubeError(`the API server at ${url.host} can't be reached: ${why}`, 0, { cause: error });
    }
  }
}

function headersOf({ contentType }: KubeRequest, body: string | undefined): Record<string, string> {
  return {
    accept: 'application/json',
    'user-agent': 'cpusetd',
    ...(body !== undefined && {
      'content-type': contentType ?? 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    }),
  };
}

/** Resolves when the head of the answer is there. */
function openRequest(url: URL, options: RequestOptions, body: string | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const begin = url.protocol === 'http:' ? requestHttp : requestHttps;
    begin(url, options, resolve).once('error', reject).end(body);
  });
}

async function readBody(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error(`its answer is longer than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Passes on the items one by one, a few in each turn, and returns the text of the list without them. */
async function readItems(response: IncomingMessage, onItem: KubeRequest['onItem']): Promise<string> {
  let found: string[] = [];
  const splitter = new ListSplitter((text) => found.push(text));
  for await (const chunk of response as AsyncIterable<Buffer>) {
    splitter.push(chunk);
    for (const text of found) {
      onItem?.(parseJson(text));
      await new Promise((resolve) => setImmediate(resolve));
    }
    found = [];
  }
  return splitter.rest;
}

/** Passes on the events, which are lines of JSON; other lines are left out. Throws KubeError for an event that is an error. */
async function readEvents(response: IncomingMessage, onEvent: KubeWatch['onEvent']): Promise<void> {
  let parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      parts.push(chunk.subarray(from, end));
      takeEvent(Buffer.concat(parts).toString('utf8'), onEvent);
      [parts, bytes, from] = [[], 0, end + 1];
    }
    parts.push(chunk.subarray(from));
    bytes += chunk.length - from;
    if (bytes > MAX_EVENT_BYTES)
      throw new KubeError(`the API server sent an event of more than ${MAX_EVENT_BYTES} bytes`, 0);
  }
}

function takeEvent(line: string, onEvent: KubeWatch['onEvent']): void {
  let event: JsonObject;
  try {
    event = asObject(JSON.parse(line));
  } catch {
    return;
  }
  const { type, object } = event;
  if (type === 'ERROR') {
    const { code, message } = asObject(object);
    throw new KubeError(explainStatus(Number(code), asString(message).slice(0, 500)), Number(code) || 0);
  }
  onEvent(asString(type), object);
}

/** Reads seconds; API servers do not use the form with a date. */
function readRetryAfter({ headers }: IncomingMessage): number | undefined {
  const text = headers['retry-after'];
  return text !== undefined && /^\d{1,4}$/.test(text) ? Number(text) * 1000 : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new KubeError('the API server answered with something that is not JSON', 0, { cause });
  }
}

function toKubeError(status: number, text: string, retryAfterMs: number | undefined): KubeError {
  let answer: { readonly message?: unknown; readonly reason?: unknown } = {};
  try {
    answer = (JSON.parse(text) as typeof answer | null) ?? {};
  } catch {
    // perhaps the page of a proxy in between
  }
  const message = typeof answer.message === 'string' ? answer.message.slice(0, 500) : '';
  return new KubeError(explainStatus(status, message), status, {
    ...(typeof answer.reason === 'string' && { reason: answer.reason }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

function describeFault(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message ?? 'unknown';
}
