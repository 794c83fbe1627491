import { readFileSync } from 'node:fs';
import { request as requestHttp, type RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text } from 'node:stream/consumers';

import { parseBoundedJson } from '../../core/bounded-json';
import { formatHostPort, type HostPort } from '../../net/host-port';
import type { Explanation, NodeExplanation } from '../../scheduling/extender/explain/decision-log';
import { complain, UsageError, write, type CliContext, type ExitStatus } from '../context';
import { formatData } from '../format/data';
import { formatTable, formatTime } from '../format/table';

export interface ExplainDecisionOptions {
  readonly listen: HostPort;
  /** `NAMESPACE/NAME`. */
  readonly pod: string;
  /** Undefined = all nodes. */
  readonly node: string | undefined;
  readonly output: 'table' | 'json';
  /** Paths; with a CA the server has TLS. */
  readonly ca: string | undefined;
  /** The name in its certificate; undefined = that of the address. */
  readonly serverName: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}

const TIMEOUT_MS = 10_000;

/** Asks a running extender for its last decision on a pod, and prints it. */
export async function explainDecision(options: ExplainDecisionOptions, context: CliContext): Promise<ExitStatus> {
  const { status, body } = await ask(options).catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new UsageError(
      `--listen ${formatHostPort(options.listen)}: the extender can't be asked: ${code ?? message}; does it run there?`,
    );
  });
  if (status !== 200) {
    complain(context.stderr, body.trim() || `the extender answered with status ${status}`);
    return 1;
  }
  const explanation = parseBoundedJson(body) as Explanation;
  const printed = options.output === 'json' ? await formatData(explanation, 'json') : formatExplanation(explanation);
  await write(context.stdout, printed);
  return 0;
}

async function ask({
  listen,
  pod,
  node,
  ca,
  serverName,
  certificate,
  key,
}: ExplainDecisionOptions): Promise<{ status: number; body: string }> {
  const query = new URLSearchParams({ pod, ...(node !== undefined && { node }) });
  const options: RequestOptions & { ca?: Buffer; cert?: Buffer; key?: Buffer; servername?: string } = {
    ...listen,
    path: `/explain?${query.toString()}`,
    timeout: TIMEOUT_MS,
    ...(ca !== undefined && { ca: readFileSync(ca) }),
    ...(serverName !== undefined && { servername: serverName }),
    ...(certificate !== undefined && { cert: readFileSync(certificate) }),
    ...(key !== undefined && { key: readFileSync(key) }),
  };
  return new Promise((resolve, reject) => {
    const call = (ca === undefined ? requestHttp : requestHttps)(options, (response) => {
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
    });
    call.once('timeout', () => call.destroy(new Error('it did not answer in time')));
    call.once('error', reject).end();
  });
}

function formatExplanation({ namespace, pod, filteredAt, nodes, bound }: Explanation): string {
  const fitting = nodes.filter(({ fits }) => fits).length;
  const lines = [`${namespace}/${pod}: ${fitting} of ${nodes.length} nodes fit, at ${formatTime(filteredAt ?? '')}`];
  if (bound) lines.push(bound.error === '' ? `bound to ${bound.node}` : `not bound to ${bound.node}: ${bound.error}`);
  const rows = nodes.map((node) => (node.fits ? showScores(node) : showRejection(node)));
  return `${lines.join('\n')}\n\n${formatTable(HEADERS, rows)}`;
}

const HEADERS = ['NODE', 'FITS', 'PLUGIN', 'OF', 'VALUE', 'LIMIT', 'SCORE', 'MESSAGE'];

function showScores({ node, scores }: NodeExplanation): string[] {
  const parts =
    scores && `Dynamic ${scores.Dynamic}, topology ${scores.NodeResourceTopologyMatch}, whole CPUs ${scores.wholeCpus}`;
  return [node, 'yes', '', '', '', '', scores ? String(scores.total) : '', parts ?? ''];
}

function showRejection({ node, rejection }: NodeExplanation): string[] {
  const { plugin = '', subject = '', value, limit, message = '' } = rejection ?? {};
  return [node, 'no', plugin, subject, show(value), show(limit), '', message];
}

function show(figure: number | null | undefined): string {
  return figure === null || figure === undefined ? '' : String(figure);
}
