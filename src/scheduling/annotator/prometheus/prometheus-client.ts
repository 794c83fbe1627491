import { MAX_JSON_BYTES } from '../../../core/bounded-json';
import { readCredentialFile } from '../../../kube';
import { exchange, type Answer } from './exchange';
import { parseAnswer, type QueryResult } from './parse-answer';

export interface PrometheusClientParts {
  /** Its base address; the path, if any, precedes `/api/v1`. */
  readonly address: string;
  readonly bearerTokenFile?: string;
  readonly caFile?: string;
  readonly userAgent: string;
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
}

const TIMEOUT_MS = 10_000;
/** Servers that do not take a query by POST. */
const NO_POST = [405, 501];

/** Asks one Prometheus, or what speaks its HTTP API. */
export class PrometheusClient {
  private readonly url: URL;
  private method: 'GET' | 'POST' = 'POST';

  constructor(private readonly parts: PrometheusClientParts) {
    this.url = new URL(`${parts.address.replace(/\/+$/, '')}/api/v1/query`);
  }

  /** An instant query at this time. Never rejects. */
  async query(expression: string, timeMs: number): Promise<QueryResult> {
    const fields = new URLSearchParams({ query: expression, time: (timeMs / 1000).toFixed(3) }).toString();
    try {
      let answer = await this.send(fields);
      if (this.method === 'POST' && NO_POST.includes(answer.status)) {
        this.method = 'GET';
        answer = await this.send(fields);
      }
      return parseAnswer(answer.status, answer.text);
    } catch (error) {
      return { ok: false, because: (error as Error).message };
    }
  }

  private async send(fields: string): Promise<Answer> {
    const {
      bearerTokenFile,
      caFile,
      userAgent,
      signal,
      timeoutMs = TIMEOUT_MS,
      maxBytes = MAX_JSON_BYTES,
    } = this.parts;
    // Read each time: tokens and authorities are renewed in place.
    const token = bearerTokenFile === undefined ? undefined : (await read(bearerTokenFile)).toString('utf8').trim();
    const ca = caFile === undefined ? undefined : await read(caFile);
    const url = new URL(this.url);
    if (this.method === 'GET') url.search = fields;
    return exchange({
      url,
      method: this.method,
      headers: {
        accept: 'application/json',
        'user-agent': userAgent,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(this.method === 'POST' && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(this.method === 'POST' && { body: fields }),
      ...(ca && { ca }),
      maxBytes,
      timeoutMs,
      signal,
    });
  }
}

async function read(path: string): Promise<Buffer> {
  return readCredentialFile(path).catch((error: unknown) => {
    throw new Error(`was not asked: ${path} can't be read: ${(error as Error).message}`, { cause: error });
  });
}
