import { execFileSync } from 'node:child_process';
import { request } from 'node:http';
import { join } from 'node:path';
import type { PageAssets } from '../../../src/admin/page/assets';
import { startPageServer, type PageServerOptions } from '../../../src/admin/page/page-server';
import { isSelected, type JournalRecord } from '../../../src/state/journal';
import { SampleBackend } from '../sample-status';

/** A page over HTTP, of a backend that the test changes. */
export interface PageRig<Backend extends SampleBackend = SampleBackend> {
  readonly backend: Backend;
  readonly url: string;
  readonly port: number;
  /** Errors and warnings of the server. */
  readonly problems: unknown[];
  /** The records of the journal; the latest is the last. */
  records: readonly JournalRecord[];
  close(): Promise<void>;
}

/** Assets for tests that look at no script and no style. */
export const PLAIN_ASSETS: PageAssets = { script: '"script";', style: 'body{}' };

/** Bundles the browser's side as the build does. */
export function buildAssets(): PageAssets {
  const script = join(__dirname, '../../../scripts/shared/page-assets.mjs');
  return JSON.parse(execFileSync(process.execPath, [script], { encoding: 'utf8' })) as PageAssets;
}

export async function startPage<Backend extends SampleBackend>(
  backend: Backend,
  options: Partial<PageServerOptions> = {},
): Promise<PageRig<Backend>> {
  const problems: unknown[] = [];
  const note = (fields: unknown): void => void problems.push(fields);
  let records: readonly JournalRecord[] = [];
  const server = await startPageServer({
    address: { host: '127.0.0.1', port: 0 },
    hosts: [],
    backend,
    journal: {
      latest: () => Promise.resolve(records),
      find: (filter) => {
        const found = records.filter((record) => isSelected(record, filter));
        return Promise.resolve({ records: found, more: false, isCutShort: false });
      },
    },
    assets: PLAIN_ASSETS,
    log: { warn: note, error: note },
    ...options,
  });
  return {
    backend,
    url: `http://127.0.0.1:${server.port}`,
    port: server.port,
    problems,
    get records() {
      return records;
    },
    set records(next) {
      records = next;
    },
    close: () => server.close(),
  };
}

export interface Answer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

/** One request, with any Host header: fetch does not let one be set. */
export function ask(
  { port }: Pick<PageRig, 'port'>,
  path: string,
  { method = 'GET', headers = {} }: { readonly method?: string; readonly headers?: Record<string, string> } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, method, headers, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => (body += text));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
      response.on('error', reject);
    });
    asked.on('error', reject).end();
  });
}
