import { createHash } from 'node:crypto';
import { toErrorStatus } from '../../core/errors';
import { escapeJson } from '../../core/show-text';
import { answerJson, type HttpAnswer, type HttpRoute } from '../../net/http-server';
import { JournalError, type FoundRecords, type JournalRecord } from '../../state/journal';
import type { Explanation } from '../model/explanation';
import type { AdminBackend } from '../model/backend';
import { AnswerQueue } from '../grpc/answer-queue';
import type { AdminLog } from '../grpc/unary-handler';
import type { PageAssets } from './assets';
import { readHistoryQuery, type HistoryQuery } from './history-query';
import { JournalSearch, type PageJournal } from './journal-search';
import { JsonStatus } from './json-status';
import { BEAT_MS, PageFeed, versionOf } from './page-feed';
import { PageModel } from './page-model';
import { renderDocument } from './render/document';
import { ICON } from './render/frame';
import { JOURNAL_OFF } from './render/history';
import { renderHistoryDocument, type HistoryResult } from './render/history-document';
import type { Html } from './render/html';
import { renderFit, renderFitProblem } from './render/sections';

export interface PageParts {
  readonly backend: AdminBackend;
  /** Absent when the journal is off. */
  readonly journal?: PageJournal;
  readonly assets: PageAssets;
  /** Time between signs of life, which browsers wait for, in ms. Default: 3 s; tests of silence set a shorter one. */
  readonly beatMs?: number;
  readonly log: AdminLog;
}

export interface Page {
  readonly routes: readonly HttpRoute[];
  /** Ends the streams. */
  close(): void;
}

/**
 * The headers of every answer: nothing comes from elsewhere, nothing is shown inside another page, nothing is sent on.
 */
export const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
} as const;

const HTML = 'text/html; charset=utf-8';
const JSON_TYPE = 'application/json';
const FRESH = { 'cache-control': 'no-cache' };
const FOR_EVER = { 'cache-control': 'public, max-age=31536000, immutable' };
const MAX_CPUS = 65_535;

/** The page, and what it shows as data. All of it is read only. */
export function createPage({ backend, journal, assets, beatMs = BEAT_MS, log }: PageParts): Page {
  const queue = new AnswerQueue();
  const json = new JsonStatus(backend);
  const history = async (): Promise<readonly JournalRecord[]> =>
    (await journal?.latest().catch((error: unknown) => {
      log.warn({ err: error }, 'the journal could not be read for the page');
    })) ?? [];
  const feed = new PageFeed({ backend, model: new PageModel(backend), history, beatMs, log });
  const search = journal && new JournalSearch(journal);
  const paths = { script: `/page-${hashOf(assets.script)}.js`, style: `/page-${hashOf(assets.style)}.css` };

  /** Answers in its turn: the calls of the runtime are served in between. */
  const inTurn = (make: () => HttpAnswer): Promise<HttpAnswer> =>
    new Promise((resolve) =>
      queue.add(
        () => resolve(make()),
        (error) => resolve(toAnswer(error, log)),
      ),
    );
  const asData = (body: () => string) => () =>
    inTurn(() => {
      const text = body();
      return { status: 200, contentType: JSON_TYPE, body: text, headers: FRESH, etag: `"${hashOf(text)}"` };
    });
  const fixed = (path: string, contentType: string, body: string, headers = FOR_EVER): HttpRoute => {
    const answer = { status: 200, contentType, body, headers, etag: `"${hashOf(body)}"` };
    return { method: 'GET', path, handle: () => answer };
  };
  const findHistory = async (query: HistoryQuery, signal: AbortSignal): Promise<FoundHistory> => {
    const [fault] = query.faults;
    if (fault) return { kind: 'problem', status: 400, problem: fault.join(': ') };
    if (!search) return { kind: 'problem', status: 404, problem: JOURNAL_OFF };
    const found = search.find(query.filter, signal);
    if (!found) return { kind: 'problem', status: 503, problem: 'others search the journal now; try again' };
    try {
      return { kind: 'found', status: 200, ...(await found) };
    } catch (error) {
      if (!(error instanceof JournalError)) throw error;
      log.warn({ err: error }, 'the journal could not be searched for the page');
      return { kind: 'problem', status: 503, problem: "the journal can't be read; the log of cpusetd has the reason" };
    }
  };
  const renderAnswer = (text: string): Html => {
    const count = parseCount(text);
    if (count === undefined) return renderFitProblem(badCount(text));
    return renderFit(backend.explain({ kind: 'cpus', count }), count, backend.topology().topology);
  };

  const routes: readonly HttpRoute[] = [
    {
      method: 'GET',
      path: '/',
      handle: async ({ query }) => {
        const records = await history();
        const text = query.get('cpus') ?? '';
        return inTurn(() => {
          const content = feed.renderNow(records);
          const answer = text === '' ? undefined : renderAnswer(text);
          const { nodeName } = backend.status().node;
          const parts = { nodeName, content, version: versionOf(content), beatMs, asked: { text, answer }, paths };
          const body = renderDocument({ ...parts, hasHistory: journal !== undefined });
          return { status: 200, contentType: HTML, body, headers: FRESH, etag: `"${hashOf(body)}"` };
        });
      },
    },
    {
      method: 'GET',
      path: '/fit',
      handle: ({ query }) =>
        inTurn(() => {
          const body = renderAnswer(query.get('cpus') ?? '').text;
          return { status: 200, contentType: HTML, body, headers: FRESH };
        }),
    },
    { method: 'GET', path: '/api/v1/status', handle: asData(() => json.status()) },
    { method: 'GET', path: '/api/v1/topology', handle: asData(() => json.topology()) },
    {
      method: 'GET',
      path: '/history',
      handle: async ({ query: parameters, signal }) => {
        const query = readHistoryQuery(parameters, Date.now());
        const found = await findHistory(query, signal);
        return inTurn(() => {
          const { nodeName } = backend.status().node;
          const result: HistoryResult = found.kind === 'found' ? found : { problem: found.problem };
          const body = renderHistoryDocument({ nodeName, style: paths.style }, query, result);
          return { status: found.status, contentType: HTML, body, headers: FRESH };
        });
      },
    },
    {
      method: 'GET',
      path: '/api/v1/history',
      handle: async ({ query: parameters, signal }) => {
        const query = readHistoryQuery(parameters, Date.now());
        if (query.isEmpty) {
          const records = await history();
          return asData(() => toJson({ records }))();
        }
        const found = await findHistory(query, signal);
        if (found.kind === 'problem') return answerJson({ error: found.problem }, found.status);
        const { records, more, isCutShort } = found;
        return asData(() => toJson({ records, more, isCutShort }))();
      },
    },
    {
      method: 'GET',
      path: '/api/v1/fit',
      handle: ({ query }) =>
        inTurn(() => {
          const text = query.get('cpus') ?? '';
          const count = parseCount(text);
          if (count === undefined) return answerJson({ error: badCount(text) }, 400);
          return answerJson(withoutKind(backend.explain({ kind: 'cpus', count })));
        }),
    },
    {
      method: 'GET',
      path: '/api/v1/explain',
      handle: ({ query }) =>
        inTurn(() => {
          const [, namespace = '', pod = ''] = /^(?:([^/]{1,253})\/)?([^/]{1,253})$/.exec(query.get('pod') ?? '') ?? [];
          if (pod === '') return answerJson({ error: 'name a pod: ?pod=namespace/name' }, 400);
          const explanation = withoutKind(backend.explain({ kind: 'pod', namespace, pod, container: '' }));
          return { status: 200, contentType: JSON_TYPE, body: toJson(explanation), headers: FRESH };
        }),
    },
    {
      method: 'GET',
      path: '/api/v1/stream',
      handle: ({ query, signal }) => {
        const open = feed.reserve(signal);
        if (!open) return tooMany('too many browsers follow the page already; close one of them');
        return {
          contentType: 'text/event-stream',
          stream: (to) => {
            open(to, query.get('version') ?? '').catch((error: unknown) => {
              log.error({ err: error }, 'the page could not be followed');
              to.destroy();
            });
          },
        };
      },
    },
    fixed(paths.script, 'text/javascript; charset=utf-8', assets.script),
    fixed(paths.style, 'text/css; charset=utf-8', assets.style),
    fixed('/icon.svg', 'image/svg+xml', ICON),
  ];
  return { routes, close: () => feed.close() };
}

type FoundHistory =
  | (FoundRecords & { readonly kind: 'found'; readonly status: 200 })
  | { readonly kind: 'problem'; readonly status: 400 | 404 | 503; readonly problem: string };

/** As `cpusetd explain -o json` shows it. */
function withoutKind(explanation: Explanation): object {
  const { kind: _kind, ...data } = explanation;
  return data;
}

function parseCount(text: string): number | undefined {
  const count = /^\d{1,6}$/.test(text) ? Number(text) : NaN;
  return count >= 1 && count <= MAX_CPUS ? count : undefined;
}

function badCount(text: string): string {
  return `"${text.slice(0, 20)}" is no number of CPUs; write a whole number from 1 to ${MAX_CPUS}`;
}

function toAnswer(error: unknown, log: AdminLog): HttpAnswer {
  const { code, message } = toErrorStatus(error);
  if (code === 'RESOURCE_EXHAUSTED') return tooMany(message);
  if (code === 'INTERNAL') log.error({ err: error }, 'a request of the page could not be answered');
  return answerJson({ error: message }, code === 'INTERNAL' ? 500 : code === 'NOT_FOUND' ? 404 : 400);
}

function tooMany(error: string): HttpAnswer {
  return { ...answerJson({ error }, 503), headers: { 'retry-after': '10' } };
}

/** JSON for people too: what a terminal would take for a command is escaped. */
function toJson(value: object): string {
  return `${escapeJson(JSON.stringify(value))}\n`;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}
