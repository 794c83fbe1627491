import { request as requestHttp, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';

export interface Exchange {
  readonly url: URL;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The authority of the server's certificate; those of the system by default. */
  readonly ca?: Buffer;
  /** Longest answer. */
  readonly maxBytes: number;
  /** Maximum time for everything. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/**
 * One HTTP request and its whole answer, over a connection of its own. Follows no redirect, which may lead anywhere.
 * Rejects with Error whose message goes on "Prometheus …".
 */
export function exchange({ url, method, headers, body, ca, maxBytes, timeoutMs, signal }: Exchange): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const begin = url.protocol === 'https:' ? requestHttps : requestHttp;
    const options: RequestOptions = {
      method,
      headers: { ...headers, ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }) },
      agent: false,
      maxHeaderSize: 64 * 1024,
    };
    const request = begin(url, { ...options, ...(ca && { ca }) });
    const stop = (because: string): void => void request.destroy(new Error(because));
    const timer = setTimeout(() => stop(`did not answer within ${timeoutMs / 1000} s`), timeoutMs);
    const abort = (): void => stop('was not waited for: the annotator ends');
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    };
    const fail = (error: NodeJS.ErrnoException): void => {
      end();
      reject(error.code === undefined ? error : new Error(`can't be reached (${error.code})`, { cause: error }));
    };
    request.once('error', fail);
    request.once('response', (response) => {
      readText(response, maxBytes).then(
        (text) => {
          end();
          resolve({ status: response.statusCode ?? 0, text });
        },
        (error: unknown) => {
          fail(request.errored ?? (error as Error));
          request.destroy();
        },
      );
    });
    request.end(body);
  });
}

async function readText(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new Error(`answered with more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
