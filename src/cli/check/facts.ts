import type { CpuSet } from '../../core/cpuset';
import type { KubeletConfig } from '../../kube';
import type { SocketPresence } from '../../net/claim-socket';

/** What was found on a node before cpusetd runs there. A fact that could not be read is absent, or has the reason. */
export interface NodeFacts {
  readonly mode: 'nri' | 'cri-proxy';
  /** Options that do not fit the machine, or are wrong. */
  readonly optionProblems: readonly string[];
  readonly machine: Known<Machine>;
  /** CPUs that the options reserve; empty for none. */
  readonly reserved: CpuSet;
  readonly nri: NamedSocket;
  /** Absent when it is off. */
  readonly cri?: NamedSocket;
  /** Absent when nobody listens on its CRI socket. */
  readonly runtime?: Known<{ readonly name: string; readonly version: string }>;
  readonly admin: NamedSocket;
  readonly kubelet: KubeletFacts;
  readonly cgroups: Known<{
    readonly version: 1 | 2;
    readonly notWritable?: string;
    readonly driver?: 'systemd' | 'cgroupfs';
  }>;
  /** Programs that write cpusets of containers and run here. */
  readonly managers: readonly string[];
  /** CPUs that the first process of the host may use. */
  readonly hostAffinity?: CpuSet;
  /** The active profile of tuned. */
  readonly tunedProfile?: string;
  /** The kernel's limits for one user. */
  readonly inotify?: { readonly watches: number; readonly instances: number };
  readonly stateDir: { readonly path: string; readonly problem?: string; readonly isInMemory: boolean };
}

export type Known<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly because: string };

export interface Machine {
  readonly online: CpuSet;
  readonly offline: CpuSet;
  readonly isolated: CpuSet;
}

export interface NamedSocket {
  readonly path: string;
  readonly presence: SocketPresence;
}

export interface KubeletFacts {
  readonly statePath: string;
  /** What its state file says; `foreign`: it is nothing that a kubelet writes. */
  readonly state: 'none' | 'static' | 'missing' | 'foreign';
  /** Its configuration, where it is known; the path for messages. */
  readonly config?: { readonly path: string; readonly read: Known<KubeletConfig & { readonly cgroupDriver?: string }> };
}
