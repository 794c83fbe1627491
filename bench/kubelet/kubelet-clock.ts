import { join } from 'node:path';
import { AskKubelet } from '../../test/conformance/kubelet/ask-kubelet';
import type { CpuRow } from '../../test/conformance/scenarios/scenario';
import { buildGoPrograms } from '../../test/support/go-programs';

/** An allocation for the kubelet's static policy, without reserved CPUs. */
export interface TimedAllocation {
  readonly cpus: readonly CpuRow[];
  /** By the kubelet's names. */
  readonly options: Readonly<Record<string, string>>;
  readonly available: string;
  readonly count: number;
}

const REPEATS = 9;

/** The kubelet's code (1.37) in a process of its own, which measures its own time. */
export class KubeletClock {
  private constructor(private readonly kubelet: AskKubelet) {}

  /** @throws Error on a machine without Go, or without a way to its modules */
  static start(): KubeletClock {
    const built = buildGoPrograms('kubelet-oracle');
    if (!built.ok) throw new Error(built.why);
    return new KubeletClock(new AskKubelet(join(built.folder, 'kubelet-oracle')));
  }

  /** @returns ns of one Allocate, the median of nine; undefined when it refuses */
  async medianNs({ cpus, options, available, count }: TimedAllocation): Promise<number | undefined> {
    await this.kubelet.ask({ op: 'machine', cpus, memory: {}, distances: [] });
    await this.kubelet.ask({ op: 'policy', options, reserved: '' });
    const answer = await this.kubelet.ask({ op: 'time', available, count, repeats: REPEATS });
    return 'medianNs' in answer ? answer.medianNs : undefined;
  }

  stop(): Promise<void> {
    return this.kubelet.stop();
  }
}
