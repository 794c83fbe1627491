import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lastCpu } from '../../e2e/rig';

/** The times are written so often, several times within a reading of a daemon that collects once a second. */
const EVERY_MS = 100;
const TICK_MS = 10;

/**
 * A load of all CPUs that the test sets, for a daemon that runs on `program`: Node.js in a mount namespace of its own,
 * in which /proc/stat is a file of the test. Other tests that use the same machine do not change it. All else that the
 * daemon reads is real.
 */
export class KnownLoad {
  private readonly dir = mkdtempSync(join(tmpdir(), 'cpusetd-load-'));
  readonly program = join(this.dir, 'node');
  private readonly file: number;
  private readonly timer: NodeJS.Timeout;
  private readonly busyMs: number[];
  private readonly parts: number[];
  private readonly startedAt = performance.now();
  private writtenAt = this.startedAt;

  /** `part`: the part of its time in which each CPU is busy. */
  constructor(part: number) {
    this.busyMs = Array.from({ length: lastCpu + 1 }, () => 0);
    this.parts = this.busyMs.map(() => part);
    const stat = join(this.dir, 'stat');
    this.file = openSync(stat, 'w');
    this.write();
    this.timer = setInterval(() => this.write(), EVERY_MS);
    const inside = `mount --bind ${stat} /proc/stat && exec "$0" "$@"`;
    writeFileSync(
      this.program,
      `#!/bin/sh\nexec unshare --mount --propagation slave sh -c '${inside}' ${process.execPath} "$@"\n`,
    );
    chmodSync(this.program, 0o755);
  }

  set(part: number): void {
    this.write();
    this.parts.fill(part);
  }

  remove(): void {
    clearInterval(this.timer);
    closeSync(this.file);
    rmSync(this.dir, { recursive: true });
  }

  /** In one write, which leaves the length as it is: whoever reads sees all of it. */
  private write(): void {
    const now = performance.now();
    this.parts.forEach((part, cpu) => (this.busyMs[cpu]! += part * (now - this.writtenAt)));
    this.writtenAt = now;
    const ticks = (ms: number): string => String(Math.floor(ms / TICK_MS)).padStart(12, '0');
    const lineOf = (name: string, busyMs: number, idleMs: number): string =>
      `${name} ${ticks(busyMs)} 0 0 ${ticks(idleMs)} 0 0 0 0 0 0\n`;
    const allMs = now - this.startedAt;
    const lines = this.busyMs.map((busyMs, cpu) => lineOf(`cpu${cpu}`, busyMs, allMs - busyMs));
    writeSync(this.file, [lineOf('cpu ', 0, 0), ...lines].join(''), 0);
  }
}
