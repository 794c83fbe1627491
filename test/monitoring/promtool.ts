import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { stringify } from 'yaml';
import { ROOT } from '../docs/markdown';

export interface PrometheusPrograms {
  readonly prometheus: string;
  readonly promtool: string;
}

/** Debian's Prometheus from the cache, or the reason why it can't be had here. Fetches it the first time. */
export function findPrometheus(): PrometheusPrograms | { readonly obstacle: string } {
  const url = pathToFileURL(join(ROOT, 'scripts/cluster/debian-programs.mjs')).href;
  const script = `import { ensureDebianPrograms } from ${JSON.stringify(url)}; console.log(JSON.stringify(ensureDebianPrograms()));`;
  try {
    const printed = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return JSON.parse(printed) as PrometheusPrograms;
  } catch {
    return { obstacle: 'Debian’s package prometheus can’t be fetched' };
  }
}

export interface RuleTest {
  readonly interval: string;
  readonly input_series: readonly { readonly series: string; readonly values: string }[];
  readonly alert_rule_test?: readonly {
    readonly eval_time: string;
    readonly alertname: string;
    readonly exp_alerts: readonly { readonly exp_labels: Readonly<Record<string, string>> }[];
  }[];
  readonly promql_expr_test?: readonly {
    readonly expr: string;
    readonly eval_time: string;
    readonly exp_samples: readonly { readonly labels: string; readonly value: number }[];
  }[];
}

/** Runs promtool with a file of this content as the last argument, with others beside it, or with standard input. */
export function runPromtool(
  promtool: string,
  args: readonly string[],
  {
    file,
    beside = {},
    input,
  }: { readonly file?: object; readonly beside?: Readonly<Record<string, object>>; readonly input?: string },
): { readonly status: number | null; readonly output: string } {
  const folder = mkdtempSync(join(tmpdir(), 'cpusetd-promtool-'));
  try {
    const path = join(folder, 'tests.yaml');
    if (file) writeFileSync(path, stringify(file));
    for (const [name, content] of Object.entries(beside)) writeFileSync(join(folder, name), stringify(content));
    const { status, stdout, stderr } = spawnSync(promtool, [...args, ...(file ? [path] : [])], {
      encoding: 'utf8',
      ...(input !== undefined && { input }),
    });
    return { status, output: `${stdout}${stderr}` };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
