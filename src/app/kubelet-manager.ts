import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseKubeletState } from '../state/kubelet-checkpoint';
import type { Alarms } from './alarms';

const MAX_BYTES = 16 * 1024 * 1024;
const REMEDY =
  "set the kubelet's cpuManagerPolicy to none, delete its cpu_manager_state and restart it: running containers stay where they are";

/** Watches for a second CPU manager on the node: the kubelet's own, by its state file. */
export class KubeletManager {
  private readonly path: string;
  private lastText: string | undefined;
  private hasLooked = false;
  private active = false;
  private fileSays: string | undefined;
  private configSays: string | undefined;

  constructor(
    kubeletRootDir: string,
    private readonly alarms: Alarms,
  ) {
    this.path = join(kubeletRootDir, 'cpu_manager_state');
  }

  /** It has changed its file while we ran, or is configured to: it gives out CPUs too. */
  get isActive(): boolean {
    return this.active || this.configSays !== undefined;
  }

  /** Reads the file; an alarm is raised as long as it says static. */
  look(): void {
    const text = readIfSmall(this.path);
    const changed = this.hasLooked && text !== this.lastText;
    this.hasLooked = true;
    if (text === this.lastText) return;
    this.lastText = text;
    if (text === undefined || !saysStatic(text)) {
      this.active = false;
      this.fileSays = undefined;
      this.tell();
      return;
    }
    this.active = changed;
    const what = changed
      ? "has just been written by a kubelet whose CPU manager policy is static: two managers fight over every container's CPUs"
      : 'says that the CPU manager policy of the kubelet is, or was, static: if it still is, two managers will fight over CPUs';
    this.fileSays = `${this.path} ${what}; ${REMEDY}`;
    this.tell();
  }

  /** What the kubelet's configuration says, where it can be read. */
  noteConfig(policy: 'none' | 'static'): void {
    const says =
      policy === 'static'
        ? `the kubelet's configuration has cpuManagerPolicy: static: two managers fight over every container's CPUs; ${REMEDY}`
        : undefined;
    if (says === this.configSays) return;
    this.configSays = says;
    this.tell();
  }

  private tell(): void {
    this.alarms.tell('kubelet-cpu-manager', '', this.configSays ?? this.fileSays);
  }
}

function saysStatic(text: string): boolean {
  const parsed = parseKubeletState(text);
  // The kubelet's own word counts even where its checksum would not.
  return parsed.ok ? parsed.state.policyName === 'static' : /"policyName"\s*:\s*"static"/i.test(text);
}

function readIfSmall(path: string): string | undefined {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat?.isFile() && stat.size <= MAX_BYTES ? readFileSync(path, 'utf8') : undefined;
  } catch {
    return undefined; // being replaced, or not for us to read
  }
}
