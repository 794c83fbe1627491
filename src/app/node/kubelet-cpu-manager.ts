import { join } from 'node:path';
import { readBounded } from '../../files/read-bounded';
import { MAX_KUBELET_STATE_BYTES, parseKubeletState } from '../../state/kubelet-checkpoint';
import type { Alarms } from '../alarms/alarms';

const REMEDY =
  "set the kubelet's cpuManagerPolicy to none, delete its cpu_manager_state and restart it: running containers stay where they are";

/** Watches for a second CPU manager on the node: the kubelet's own, by its state file. */
export class KubeletCpuManagerWatch {
  private readonly path: string;
  private lastText: string | undefined;
  private hasLooked = false;
  private active = false;
  private fileSays: string | undefined;
  private fileIsStatic = false;
  private configSays: string | undefined;

  constructor(
    kubeletRootDir: string,
    private readonly alarms: Alarms,
  ) {
    this.path = join(kubeletRootDir, 'cpu_manager_state');
  }

  /** True when the kubelet gives out CPUs too: it has changed its file while we ran, or its configuration says so. */
  get isActive(): boolean {
    return this.active || this.configSays !== undefined;
  }

  /**
   * True when the kubelet's file or its configuration says static: schedulers must know that the kubelet gives out
   * CPUs. A kubelet with the policy none ends at its start beside a file that says static, so such a file is a leftover
   * only where no kubelet runs. A false yes costs a scheduler's advice; a false no would make it choose CPUs that the
   * kubelet gives out.
   */
  get isStatic(): boolean {
    return this.fileIsStatic || this.configSays !== undefined;
  }

  /**
   * Reads the file; an alarm is raised as long as it says static, or can't be understood. Never throws, and takes
   * bounded time.
   */
  look(): void {
    const read = readBounded(this.path, MAX_KUBELET_STATE_BYTES);
    const found = read.ok ? read.text : read.kind === 'missing' ? undefined : read;
    const text = typeof found === 'string' ? found : found?.because;
    const changed = this.hasLooked && text !== this.lastText;
    this.hasLooked = true;
    if (text === this.lastText) return;
    this.lastText = text;
    const says = typeof found === 'string' ? readPolicy(found) : { static: false, problem: found?.because };
    this.fileIsStatic = says.static;
    this.active = says.static && changed;
    this.fileSays = this.describe(says, changed);
    this.updateAlarm();
  }

  private describe(says: FileSays, changed: boolean): string | undefined {
    if (says.static) {
      const what = changed
        ? "has just been written by a kubelet whose CPU manager policy is static: two managers fight over every container's CPUs"
        : 'says that the CPU manager policy of the kubelet is, or was, static: if it still is, two managers will fight over CPUs';
      return `${this.path} ${what}; ${REMEDY}`;
    }
    if (says.problem === undefined) return undefined;
    return (
      `${this.path}: ${says.problem}; the kubelet's CPU manager keeps a small file there, and whether that one gives out CPUs too ` +
      "can't be told: find out what made this, and remove it if the kubelet's cpuManagerPolicy is none"
    );
  }

  /** Takes in the policy of the kubelet's configuration. */
  noteConfig(policy: 'none' | 'static'): void {
    const says =
      policy === 'static'
        ? `the kubelet's configuration has cpuManagerPolicy: static: two managers fight over every container's CPUs; ${REMEDY}`
        : undefined;
    if (says === this.configSays) return;
    this.configSays = says;
    this.updateAlarm();
  }

  private updateAlarm(): void {
    this.alarms.update('kubelet-cpu-manager', '', this.configSays ?? this.fileSays);
  }
}

interface FileSays {
  readonly static: boolean;
  /** It is nothing that a kubelet writes. */
  readonly problem: string | undefined;
}

function readPolicy(text: string): FileSays {
  const parsed = parseKubeletState(text);
  if (parsed.ok) return { static: parsed.state.policyName === 'static', problem: undefined };
  // The kubelet's own word counts even where its checksum would not.
  const isStatic = /"policyName"\s*:\s*"static"/i.test(text);
  return { static: isStatic, problem: parsed.problem === 'too-large' ? parsed.because : undefined };
}
