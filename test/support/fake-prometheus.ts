import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenQuery {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** The time that was asked for, in seconds, as it was written. */
  readonly time: string;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
}

/** One series of an answer. */
export interface GivenSeries {
  readonly instance: string;
  readonly value: number | string;
  /** Time of the sample in ms; the time that was asked for by default. */
  readonly timeMs?: number;
  readonly job?: string;
  /** Its other labels. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** An answer that a test wants instead of the usual one. */
export interface PrometheusTrouble {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The whole body. */
  readonly text?: string;
  /** Parts of the usual answer that are others, such as `warnings`. */
  readonly with?: object;
  readonly delayMs?: number;
  /** Never answer. */
  readonly hang?: boolean;
  /** An answer without an end. */
  readonly isEndless?: boolean;
}

/**
 * Answers instant queries as Prometheus' HTTP API does. It evaluates no expression: a metric's name in the query, and
 * labels that it compares by `=`, select the series.
 */
export class FakePrometheus {
  readonly queries: SeenQuery[] = [];
  /** By metric. Values are per cent: the division by 100 is the query's. */
  readonly series = new Map<string, readonly GivenSeries[]>();
  trouble: (query: SeenQuery) => PrometheusTrouble | undefined = () => undefined;
  /** Bytes that were written to endless answers. */
  endlessBytes = 0;
  private server: Server | undefined;
  private port = 0;

  async start(): Promise<void> {
    const server = createServer((request, response) => void this.answer(request, response));
    await new Promise<void>((resolve) => server.listen(this.port, '127.0.0.1', resolve));
    this.server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  /** Refuses connections until `start`, which uses the same address again. */
  async stop(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    if (!server) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  get address(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const fields =
      request.method === 'POST' ? new URLSearchParams(Buffer.concat(chunks).toString('utf8')) : url.searchParams;
    const seen: SeenQuery = {
      method: request.method ?? '',
      path: url.pathname,
      query: fields.get('query') ?? '',
      time: fields.get('time') ?? '',
      authorization: request.headers.authorization,
      contentType: request.headers['content-type'],
    };
    this.queries.push(seen);
    const trouble = this.trouble(seen) ?? {};
    if (trouble.hang === true) return;
    if (trouble.delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, trouble.delayMs));
    response.writeHead(trouble.status ?? 200, { 'content-type': 'application/json', ...trouble.headers });
    if (trouble.isEndless === true) this.pour(response);
    else response.end(trouble.text ?? JSON.stringify({ ...this.evaluate(seen), ...trouble.with }));
  }

  private pour(response: ServerResponse): void {
    const chunk = Buffer.alloc(1 << 20, ' ');
    const more = (): void => {
      while (!response.destroyed && this.endlessBytes < 100 * chunk.length) {
        this.endlessBytes += chunk.length;
        if (!response.write(chunk)) return;
      }
    };
    response.on('drain', more);
    more();
  }

  private evaluate({ query, time }: SeenQuery): object {
    const [, name = '', matchers = ''] = /^([^\s{]*)(?:\{(.*)\})? \/100$/.exec(query) ?? [];
    const { __name__: metric = name, ...wanted } = Object.fromEntries(
      [...matchers.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, value]) => [label, value]),
    ) as Record<string, string>;
    const isSelected = ({ labels = {} }: GivenSeries): boolean =>
      Object.entries(wanted).every(([label, value]) => labels[label] === value);
    const result = (this.series.get(metric) ?? []).filter(isSelected).map(({ instance, job, value, timeMs }) => ({
      metric: { instance, ...(job !== undefined && { job }) },
      value: [timeMs === undefined ? Number(time) : timeMs / 1000, format(value)],
    }));
    return { status: 'success', data: { resultType: 'vector', result } };
  }
}

/** A text is sent as it is. */
function format(value: number | string): string {
  return typeof value === 'string' ? value : String(value / 100);
}
