import { request as requestHttp, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
import { explainStatus, KubeError } from './kube-error';
import { ListSplitter } from './list-splitter';
import { loadKubeConfig, type GuardedKubeConfig, type KubeConfigSource } from './load-kube-config';
import { untilAborted, withinTime } from './within-time';

/** One object, or what is left of a list whose items were taken one by one. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;
const DEFAULT_TIMEOUT_MS = 15_000;

export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Begins with a slash. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly contentType?: string;
  readonly timeoutMs?: number;
  /** Takes each item of a list as it comes, so that a list of any length is never held as a whole; the answer has none then. */
  readonly onItem?: (item: unknown) => void;
}

/** The content types of patches that are made here. */
export const MERGE_PATCH = 'application/merge-patch+json';
export const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';

/**
 * Asks the API server with the identity of a kubeconfig or of the pod's service account. Identity, TLS and refreshed tokens
 * are the library's; its typed clients are not used, since the models of all of Kubernetes would weigh more than the daemon.
 */
export class KubeClient {
  private loaded: Promise<GuardedKubeConfig> | undefined;

  constructor(
    private readonly source: KubeConfigSource,
    private readonly signal: AbortSignal,
  ) {}

  /** Read once, and again after it has failed: a kubeconfig may come or change while we run. Throws KubeError. */
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
   * Gives the parsed JSON of a successful answer. Throws KubeError for every other outcome, also when the daemon ends. The
   * time limit is one for all of it: reading the kubeconfig, getting credentials, connecting, and the answer to its end.
   */
  async send(call: KubeRequest): Promise<unknown> {
    try {
      return await withinTime(
        { signal: this.signal, timeoutMs: call.timeoutMs ?? DEFAULT_TIMEOUT_MS },
        async (limit) => {
          const config = await untilAborted(this.config(), limit, () => 'the kubeconfig did not come in time');
          return await this.ask(config, call, limit);
        },
      );
    } catch (error) {
      throw error instanceof KubeError ? error : new KubeError((error as Error).message, 0, { cause: error });
    }
  }

  private async ask(config: GuardedKubeConfig, call: KubeRequest, signal: AbortSignal): Promise<unknown> {
    const server = config.getCurrentCluster()?.server;
    if (server === undefined) throw new KubeError('the kubeconfig names no cluster for its current context', 0);
    const url = new URL(server.replace(/\/$/, '') + call.path);
    for (const [name, value] of Object.entries(call.query ?? {})) url.searchParams.set(name, value);

    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    const options: RequestOptions = { method: call.method, headers: headersOf(call, body), signal };
    const applied = config.applyToHTTPSOptions(options as Parameters<GuardedKubeConfig['applyToHTTPSOptions']>[0]);
    await untilAborted(applied, signal, () => config.delay);
    try {
      const { status, text, retryAfterMs } = await exchange(url, options, body, call.onItem);
      if (status >= 200 && status < 300) return parseJson(text);
      if (status === 401) this.forgetConfig();
      throw toKubeError(status, text, retryAfterMs);
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

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly retryAfterMs?: number;
}

function exchange(
  url: URL,
  options: RequestOptions,
  body: string | undefined,
  onItem: KubeRequest['onItem'],
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const begin = url.protocol === 'http:' ? requestHttp : requestHttps;
    const request = begin(url, options, (response) => {
      const isList = onItem !== undefined && response.statusCode === 200;
      (isList ? readItems(response, onItem) : readBody(response)).then((text) => {
        const retryAfterMs = readRetryAfter(response);
        resolve({ status: response.statusCode ?? 0, text, ...(retryAfterMs !== undefined && { retryAfterMs }) });
      }, reject);
    });
    request.once('error', reject);
    request.end(body);
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

/** Gives the items one by one, each turn a few of them at most, and returns the text of the list without them. */
async function readItems(response: IncomingMessage, onItem: (item: unknown) => void): Promise<string> {
  let found: string[] = [];
  const splitter = new ListSplitter((text) => found.push(text));
  for await (const chunk of response as AsyncIterable<Buffer>) {
    splitter.push(chunk);
    for (const text of found) {
      onItem(parseJson(text));
      await new Promise((resolve) => setImmediate(resolve));
    }
    found = [];
  }
  return splitter.rest;
}

/** Seconds, or nothing: the form with a date is not used by API servers. */
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
  let told: { readonly message?: unknown; readonly reason?: unknown } = {};
  try {
    told = (JSON.parse(text) as typeof told | null) ?? {};
  } catch {
    // a proxy in between, perhaps: its page says nothing to us
  }
  const message = typeof told.message === 'string' ? told.message.slice(0, 500) : '';
  return new KubeError(explainStatus(status, message), status, {
    ...(typeof told.reason === 'string' && { reason: told.reason }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

function describeFault(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message ?? 'unknown';
}
