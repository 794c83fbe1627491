import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { projectRoot } from '../../../e2e/rig/project-root';
import { loadScript } from '../../../support/load-script';
import { waitUntil } from '../../../support/wait-until';
import { ask, findPort } from './extender';

interface DebianPrograms {
  readonly ensureDebianPrograms: (options: object) => { readonly prometheus: string };
}

export interface Target {
  readonly node: string;
  /** The label `instance`. */
  readonly instance: string;
}

/** The ranges of the rules are shortened, so that a change of load shows soon. A range has several samples. */
const RANGES = { '[5m]': '[1s]', '[1h]': '[2s]', '[1d]': '[3s]' };
const PERIOD = '250ms';

/**
 * A real Prometheus with the rules of deploy/scheduling, which scrapes the exporters and evaluates the rules four times
 * a second.
 */
export class Prometheus {
  private readonly folder = mkdtempSync(join(tmpdir(), 'cpusetd-prometheus-'));
  private child: ChildProcess | undefined;

  private constructor(
    private readonly program: string,
    readonly port: number,
  ) {}

  /** @param exportersPort the port on loopback where `/<node>` has the metrics of each node */
  static async start(exportersPort: number, targets: readonly Target[]): Promise<Prometheus> {
    const { ensureDebianPrograms } = await loadScript<DebianPrograms>('cluster/debian-programs.mjs');
    const prometheus = new Prometheus(ensureDebianPrograms({}).prometheus, await findPort());
    prometheus.configure(exportersPort, targets);
    await prometheus.restart();
    return prometheus;
  }

  get address(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Starts it, and waits until it answers. */
  async restart(): Promise<void> {
    const log = openSync(join(this.folder, 'log'), 'a');
    const args = [
      `--config.file=${join(this.folder, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${join(this.folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${this.port}`,
    ];
    this.child = spawn('setpriv', ['--pdeathsig', 'KILL', this.program, ...args], { stdio: ['ignore', log, log] });
    closeSync(log);
    const isReady = async () => (await ask(this.port, '/-/ready').catch(() => undefined))?.status === 200;
    await waitUntil('Prometheus to be ready', isReady, undefined, {
      everyMs: 50,
      seen: () => readFileSync(join(this.folder, 'log'), 'utf8').split('\n').slice(-4),
    });
  }

  /** The values of a metric by their label `instance`. */
  async read(metric: string): Promise<Map<string, number>> {
    const { text } = await ask(this.port, `/api/v1/query?query=${encodeURIComponent(metric)}`);
    const { data } = JSON.parse(text) as {
      data: { result: { metric: { instance: string }; value: [number, string] }[] };
    };
    return new Map(data.result.map(({ metric: { instance }, value: [, value] }) => [instance, Number(value)]));
  }

  /** Ends it with this signal; SIGSTOP makes it hang instead, and SIGCONT ends that. */
  async signal(signal: 'SIGTERM' | 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    const { child } = this;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    if (signal === 'SIGTERM') await once(child, 'exit');
  }

  async stop(): Promise<void> {
    await this.signal('SIGCONT');
    await this.signal('SIGTERM');
    rmSync(this.folder, { recursive: true, force: true });
  }

  private configure(exportersPort: number, targets: readonly Target[]): void {
    const rules = readFileSync(join(projectRoot(), 'deploy/scheduling/prometheus-rules.yaml'), 'utf8');
    const shortened = Object.entries(RANGES).reduce((text, [from, to]) => text.replaceAll(from, to), rules);
    writeFileSync(
      join(this.folder, 'rules.yaml'),
      shortened.replaceAll(/^(\s*)interval: .*$/gm, `$1interval: ${PERIOD}`),
    );
    const config = {
      global: { scrape_interval: PERIOD, scrape_timeout: PERIOD, evaluation_interval: PERIOD },
      rule_files: [join(this.folder, 'rules.yaml')],
      scrape_configs: targets.map(({ node, instance }) => ({
        job_name: node,
        metrics_path: `/${node}`,
        static_configs: [{ targets: [`127.0.0.1:${exportersPort}`], labels: { instance } }],
      })),
    };
    writeFileSync(join(this.folder, 'prometheus.yaml'), stringify(config));
  }
}
