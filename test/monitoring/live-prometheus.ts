import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { waitUntil } from '../support/wait-until';
import { findFreePort } from '../support/free-port';

export interface QueryResult {
  readonly status: 'success' | 'error';
  readonly error?: string;
  readonly warnings?: readonly string[];
  readonly infos?: readonly string[];
  readonly data?: { readonly result: readonly unknown[] };
}

/** A real Prometheus on loopback that scrapes these ports, and evaluates the rules of this file, each second. */
export async function withPrometheus(
  program: string,
  { targetPorts, rules }: { readonly targetPorts: readonly number[]; readonly rules: string },
  body: (query: (expression: string) => Promise<QueryResult>, url: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'cpusetd-prometheus-'));
  const targets = targetPorts.map((port) => `127.0.0.1:${port}`);
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: [join(folder, 'rules.yaml')],
    scrape_configs: [{ job_name: 'cpusetd', static_configs: [{ targets, labels: { cluster: 'c' } }] }],
  };
  writeFileSync(join(folder, 'prometheus.yaml'), stringify(config));
  const everySecond = readFileSync(rules, 'utf8').replaceAll(/^(\s*)interval: .*$/gm, '$1interval: 1s');
  writeFileSync(join(folder, 'rules.yaml'), everySecond);
  const port = await findFreePort();
  const log = openSync(join(folder, 'log'), 'a');
  const args = [
    `--config.file=${join(folder, 'prometheus.yaml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', program, ...args], { stdio: ['ignore', log, log] });
  closeSync(log);
  const ended = once(child, 'exit');
  const base = `http://127.0.0.1:${port}`;
  try {
    const isReady = () =>
      fetch(`${base}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    await waitUntil('Prometheus to be ready', isReady, 30_000, {
      everyMs: 50,
      seen: () => readFileSync(join(folder, 'log'), 'utf8').split('\n').slice(-4),
    });
    await body(async (expression) => {
      const answer = await fetch(`${base}/api/v1/query?query=${encodeURIComponent(expression)}`);
      return (await answer.json()) as QueryResult;
    }, base);
  } finally {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
}
