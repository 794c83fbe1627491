import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Load {
  /** Ratios from 0 to 1. */
  readonly cpu: number;
  readonly memory: number;
}

interface Counters extends Load {
  readonly atMs: number;
  readonly idleSeconds: number;
  readonly busySeconds: number;
}

const MEMORY_BYTES = 64 * 2 ** 30;

/** A node_exporter for each node of a test, with a load that the test sets: `/<node>` has the metrics of one. */
export class Exporters {
  private readonly nodes = new Map<string, Counters>();

  private constructor(private readonly server: Server) {}

  static async start(): Promise<Exporters> {
    const server = createServer((request, response) => {
      const text = exporters.expose((request.url ?? '').slice(1));
      response.writeHead(text === undefined ? 404 : 200, { 'content-type': 'text/plain; version=0.0.4' }).end(text);
    });
    const exporters = new Exporters(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return exporters;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** The node has this load from now on. */
  set(node: string, load: Load): void {
    this.nodes.set(node, { ...this.advance(node), ...load });
  }

  /** The node's exporter answers no more. */
  remove(node: string): void {
    this.nodes.delete(node);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private advance(node: string): Counters {
    const nowMs = performance.now();
    const { cpu, memory, atMs, idleSeconds, busySeconds } = this.nodes.get(node) ?? { ...ZERO, atMs: nowMs };
    const seconds = (nowMs - atMs) / 1_000;
    const [idle, busy] = [idleSeconds + seconds * (1 - cpu), busySeconds + seconds * cpu];
    return { cpu, memory, atMs: nowMs, idleSeconds: idle, busySeconds: busy };
  }

  private expose(node: string): string | undefined {
    if (!this.nodes.has(node)) return undefined;
    const { memory, idleSeconds, busySeconds } = this.advance(node);
    // With their time a rate is exact, however late a busy machine scrapes the counters.
    const stamp = Date.now();
    const ofCpu = (cpu: number) => [
      `node_cpu_seconds_total{cpu="${cpu}",mode="idle"} ${idleSeconds} ${stamp}`,
      `node_cpu_seconds_total{cpu="${cpu}",mode="user"} ${busySeconds} ${stamp}`,
    ];
    const lines = [
      '# TYPE node_cpu_seconds_total counter',
      ...[0, 1].flatMap(ofCpu),
      '# TYPE node_memory_MemTotal_bytes gauge',
      `node_memory_MemTotal_bytes ${MEMORY_BYTES} ${stamp}`,
      '# TYPE node_memory_MemAvailable_bytes gauge',
      `node_memory_MemAvailable_bytes ${Math.round(MEMORY_BYTES * (1 - memory))} ${stamp}`,
    ];
    return `${lines.join('\n')}\n`;
  }
}

const ZERO = { cpu: 0, memory: 0, atMs: 0, idleSeconds: 0, busySeconds: 0 };
